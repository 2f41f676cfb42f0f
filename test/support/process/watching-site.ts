import { readFileSync } from "node:fs";
import { type Site, startSite } from "../fakes/site.ts";

/** The page that docs/OBSERVING.md gives to those who want to watch. */
const [, EXAMPLE = ""] =
  /```html\n([\s\S]*?)```/.exec(readFileSync("docs/OBSERVING.md", "utf8")) ?? [];

const PAGES: Record<string, string> = {
  "/example": EXAMPLE,
  /** Nothing ever changes. */
  "/still": "<title>Still</title><body style='margin:0;background:#06c'><h1>Still</h1>",
  /** Changes twenty times a second. */
  "/moving": `<title>Moving</title><body style='margin:0'><h1 id=n>0</h1><script>
    let count = 0; setInterval(() => (n.textContent = ++count), 50)</script>`,
  /** Says whether what is done to it is trusted, and is sent by Enter. */
  "/form": `<title>Form</title><body style="margin:0;height:3000px">
    <form onsubmit="document.title = 'Sent'; return false">
    <input id=field style="position:absolute;left:100px;top:100px;width:300px;height:40px"></form>
    <script>var trusted = true; for (const n of ["keydown", "mousedown", "wheel"])
    addEventListener(n, (e) => (trusted &&= e.isTrusted))</script>`,
  "/files": `<title>Files</title><body style="margin:0">
    <input id=one type=file style="position:absolute;left:100px;top:100px">
    <input id=many type=file multiple style="position:absolute;left:100px;top:200px">`,
  "/asks":
    "<title>Asks</title><h1>Asks</h1><script>document.title = prompt('Who?', 'nobody')</script>",
  "/other": "<title>Other</title><body style='background:#c60'><h1>Other</h1>",
};

/** A web site with pages to watch. */
export const startWatchingSite = (): Promise<Site> =>
  startSite((path) => `<!doctype html>${PAGES[path] ?? "<title>None</title>"}`);
