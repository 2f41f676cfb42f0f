/**
 * Attributes that act by themselves and show nothing. The policy of the page holds back what they would load, but no policy
 * holds back a connection that is made ahead (`rel`).
 */
const ACTING = new Set([
  "rel",
  "http-equiv",
  "srcdoc",
  "sandbox",
  "ping",
  "action",
  "formaction",
  "target",
  "attributionsrc",
]);

/** Takes out of an event of rrweb, wherever its nodes and changes are, what could act when they are built. */
export function disarm(event: object): void {
  // Not by calls of itself: a document is as deep as its page likes.
  const left: object[] = [event];
  for (let next = left.pop(); next; next = left.pop())
    for (const [name, value] of Object.entries(next)) {
      if (typeof value !== "object" || value === null) continue;
      // Changes of attributes are a list, in which each has `attributes` of its own.
      if (name === "attributes" && !Array.isArray(value)) clean(value);
      left.push(value);
    }
}

function clean(attributes: Record<string, unknown>): void {
  for (const name of Object.keys(attributes)) {
    const plain = name.toLowerCase();
    if (ACTING.has(plain) || plain.startsWith("on")) delete attributes[name];
  }
}
