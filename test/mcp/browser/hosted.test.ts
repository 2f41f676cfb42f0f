// The browser tools behind /mcp: the driver runs in the Worker, and its sockets never leave it.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type McpClient, mcpClient } from "../../support/mcp-client.ts";
import { BrowserToolsRig } from "../../support/process/browser-tools.ts";
import { missingBrowser } from "../../support/process/needs.ts";
import { pages } from "./pages.ts";

describe.skipIf(await missingBrowser())("browser tools behind /mcp", () => {
  let rig: BrowserToolsRig;
  let client: McpClient;
  let sessionId = "";
  const call = (name: string, args: object = {}) =>
    client.call(`svc_browser_${name}`, { sessionId, ...args });

  beforeAll(async () => {
    rig = await BrowserToolsRig.start(pages);
    client = await mcpClient({ url: rig.gateway.url, key: rig.key });
    const { json } = await client.call("svc_browser_create", { mode: "fast" });
    sessionId = String(json["sessionId"]);
  });
  afterAll(async () => {
    expect((await call("close")).json).toEqual({ released: true });
    await client.close();
    await rig.close();
  });

  test("a page is opened, read, and clicked by a ref of what was read", async () => {
    const opened = await call("navigate", { url: `${rig.site}/` });
    expect(opened).toMatchObject({ isError: false, json: { title: "Home", status: 200 } });
    const { content } = await call("read_page", { format: "snapshot" });
    const [, ref] = /- link "Next page" \[ref=(e\d+)\]/.exec(content[1]?.text ?? "") ?? [];
    const clicked = await call("click", { selector: ref, screenshot: true });
    expect(clicked.json).toMatchObject({ title: "Next", navigated: true });
    expect(clicked.content[1]).toMatchObject({ type: "image", mimeType: "image/jpeg" });
  });

  test("a long page is read whole: what the browser answers is longer than a megabyte", async () => {
    await call("navigate", { url: `${rig.site}/` });
    const rows = "document.body.innerHTML = '<button>row</button>'.repeat(6000)";
    await call("evaluate", { expression: rows });
    const { content, json } = await call("read_page", { format: "snapshot", maxChars: 100_000 });
    expect(json).toMatchObject({ truncated: true });
    expect(content[1]?.text).toMatch(/^- button "row" \[ref=e\d+\]/);
  });

  test("a picture of much detail is made small enough", async () => {
    await call("navigate", { url: `${rig.site}/` });
    const noise =
      "const c = document.createElement('canvas'); c.width = 1280; c.height = 1500; const g = c.getContext('2d'), d = g.createImageData(1280, 1500); for (let i = 0; i < d.data.length; i++) d.data[i] = Math.random() * 256; g.putImageData(d, 0, 0); document.body.replaceChildren(c)";
    await call("evaluate", { expression: noise });
    const { content } = await call("screenshot", { fullPage: true, quality: 95 });
    const { data = "" } = content[1] ?? {};
    expect(data.length).toBeGreaterThan(100_000);
    expect(data.length).toBeLessThanOrEqual(700_000);
  });

  test("an error has its code, the reason and the next step", async () => {
    await call("navigate", { url: `${rig.site}/covered` });
    const { isError, text } = await call("click", { selector: "#under" });
    expect(isError).toBe(true);
    expect(text).toMatch(/^ElementObscured: #under is covered by <div id="banner".*Close or click/);
    const unknown = await client.call("svc_browser_read_page", { sessionId: "sess_none" });
    expect(unknown.text).toMatch(/^InvalidSessionId: .*svc_browser_create/);
  });
});
