import type { SitePage } from "../../support/process/browser-tools.ts";

/** Longer than what any tool may let out of a page. */
const HUGE = 20_000_000;

const ALL: Readonly<Record<string, (other: string) => SitePage>> = {
  "/": () => `<title>Home</title><h1>Home</h1><p>Read   me.</p>
    <a href="/next">Next page</a> <a href="/next">again</a> <a href="/new" target="_blank">New tab</a>
    <button onclick="document.title='Pressed '+event.isTrusted">Go</button>
    <button hidden>Hidden</button>
    <select aria-label="Size"><option value="s">Small<option value="l" selected>Large</select>`,
  "/next": () => "<title>Next</title><h1>Next</h1>",
  "/new": () => "<title>New</title><h1>New tab</h1>",
  "/form": () => `<title>Form</title><form action="/next">
    <input id="name" name="name" value="old" onkeydown="keys.textContent+=event.isTrusted?'k':'!'">
    <textarea id="lines"></textarea><select id="size"><option value="s">Small<option value="l">Large</select>
    <input id="day" type="date"><input id="off" disabled><input id="read" readonly><input id="box" type="checkbox"><input id="file" type="file">
    <div id="rich" contenteditable="true">rich</div><output id="keys"></output><button>Send</button></form>`,
  "/covered":
    () => `<title>Covered</title><button id="under" onclick="document.title='hit'">Under</button>
    <div id="banner" role="dialog" aria-label="Cookies" style="position:fixed;inset:0;background:#ccc">Cookies?</div>
    <button id="none" style="display:none">None</button>
    <button id="off" style="visibility:hidden">Off</button>`,
  "/far": () => `<title>Far</title><div style="height:5000px"></div>
    <button id="far" onclick="document.title='Far hit'">Far</button>`,
  "/shadow": () => `<title>Shadow</title><div id="host"></div><script>
    const root = host.attachShadow({ mode: "closed" });
    root.innerHTML = "<button>Inside</button><input aria-label='Secret place'>";
    root.querySelector("button").onclick = () => (document.title = "Shadow hit");
    root.querySelector("input").oninput = (event) => (document.title = "Typed " + event.target.value);</script>`,
  "/frames": (other) => `<title>Frames</title><h1>Top</h1><div style="height:300px"></div>
    <iframe srcdoc="<button onclick=&quot;parent.document.title='Same hit'&quot;>Same</button>"></iframe>
    <iframe src="${other}/inner" style="margin-left:40px"></iframe>
    <script>addEventListener("message", ({ data }) => (document.title = data))</script>`,
  "/covered-frame": (other) => `<title>Covered frame</title><iframe src="${other}/inner"></iframe>
    <div id="banner" style="position:fixed;inset:0;background:#ccc">Cookies?</div>`,
  "/inner": () => `<button onclick="parent.postMessage('Cross hit','*')">Cross</button>
    <input aria-label="Cross field" oninput="parent.postMessage('Cross '+this.value,'*')">`,
  "/dialogs": () => `<title>Dialogs</title>
    <button id="alert" onclick="alert('Hello');document.title='After alert'">Alert</button>
    <button id="confirm" onclick="document.title='Answer '+confirm('Sure?')">Confirm</button>
    <button id="leave" onclick="onbeforeunload=(e)=>e.preventDefault();location.href='/next'">Leave</button>`,
  "/huge":
    () => `<title>Huge</title><p>Small text</p><img alt="pic" src="data:image/png;base64,${"A".repeat(HUGE)}">
    <a href="data:text/plain,${"B".repeat(1_000)}">data</a>`,
  "/hostile":
    () => `<title>Hostile</title><form name="querySelectorAll"></form><img name="body"><p id="text">True text</p>
    <a href="/next">True link</a><button id="go" onclick="document.title='Hostile hit'">Go</button><script>
    JSON.stringify = JSON.parse = () => { throw "broken JSON"; };
    Array.prototype.map = Array.prototype.push = Array.prototype[Symbol.iterator] = () => { throw "broken Array"; };
    String.prototype.slice = String.prototype.replace = () => "a lie"; Promise.prototype.then = () => { throw "broken Promise"; };
    Document.prototype.querySelector = Document.prototype.querySelectorAll = () => { throw "broken document"; };
    Element.prototype.getClientRects = () => []; Object.prototype.toJSON = () => "a lie";</script>`,
  "/tall":
    () => `<title>Tall</title><body style="margin:0"><div id="red" style="width:300px;height:200px;background:#f00"></div>
    <div style="height:4000px"></div>`,
  "/file": () => ({
    headers: {
      "content-type": "application/zip",
      "content-disposition": "attachment; filename=a.zip",
    },
    body: "bytes",
  }),
  "/scroll": () => `<title>Scroll</title><div style="height:5000px"></div><script>
    addEventListener("scroll", () => (document.title = "Scrolled"))</script>`,
};

/** The pages of the tests of the tools. `other`: the same site by another origin. */
export const pages = (path: string, other: string): SitePage | undefined => {
  const page = ALL[path.split("?")[0] ?? ""]?.(other);
  return typeof page === "string" ? `<!doctype html><meta charset="utf-8">${page}` : page;
};
