import { type Site, startSite } from "../fakes/site.ts";

const place = (top: number): string =>
  `style="position:absolute;left:100px;top:${top}px;width:400px;height:60px;box-sizing:border-box"`;

/** What is done to a page, as the page's own programs learn it. */
const LOG = `<script>
  var log = [];
  for (const name of ["mousedown", "mouseup", "click", "auxclick", "contextmenu", "wheel", "keydown", "keyup"])
    addEventListener(name, (e) => log.push({ name, trusted: e.isTrusted, x: e.clientX, y: e.clientY, button: e.button,
      detail: e.detail, key: e.key, shift: e.shiftKey, ctrl: e.ctrlKey, target: e.target.id }), { passive: true });
  </script>`;

const PAGES: Record<string, string> = {
  "/fields": `<title>Fields</title>${LOG}<body style="margin:0;height:3000px">
    <input id=one autofocus ${place(100)}><textarea id=many ${place(200)}></textarea>
    <button id=press ${place(300)}>Press</button>`,
  "/files": `<title>Files</title><body style="margin:0">
    <input id=single type=file ${place(100)}><input id=several type=file multiple ${place(200)}>`,
  "/asks": `<title>Asks</title><body style="margin:0"><script>var told; var count = 0</script>
    <button id=alerts onclick="alert('<b>Look</b>'); told = 'looked'" ${place(100)}>alert</button>
    <button id=confirms onclick="told = confirm('Sure?')" ${place(200)}>confirm</button>
    <button id=prompts onclick="told = prompt('Who?', 'nobody')" ${place(300)}>prompt</button>
    <button id=endless onclick="for (;;) { count += 1; alert('again') }" ${place(400)}>endless</button>`,
  /** Its title never rests. */
  "/restless": `<title>Restless</title><script>let n = 0; setInterval(() => (document.title = "<i>" + ++n), 100)</script>`,
};

/** A web site whose pages tell what is done to them. */
export const startLiveSite = (): Promise<Site> =>
  startSite((path) => `<!doctype html>${PAGES[path] ?? "<title>None</title>"}`);
