import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { SlotFiles } from "@svc/contract/host-protocol/slot-files.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { missingBrowser, missingStealth } from "../../support/process/needs.ts";
import { RawCdp, byCdp, byPuppeteer, byWire, firstPage } from "../clients.ts";
import { Rig } from "../rig.ts";

const MIB = 1024 ** 2;
const PATIENCE = { timeout: 100_000, interval: 50 };

/** Downloads by query: `name` as a site says it, `bytes` of them; `held` are never whole. */
function answer(request: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(request.url ?? "", "http://site/");
  if (pathname !== "/download") {
    response.setHeader("content-type", "text/html");
    response.end(`<title>files</title><input type=file id=f>
      <a id=d href="/download?${searchParams.toString()}">download</a>
      <a id=p target=_blank href="/?${searchParams.toString()}">popup</a>`);
    return;
  }
  const bytes = Number(searchParams.get("bytes") ?? 4);
  const name = encodeURIComponent(searchParams.get("name") ?? "a.txt");
  response.setHeader("content-disposition", `attachment; filename*=UTF-8''${name}`);
  response.setHeader("content-type", "application/octet-stream");
  // Less than that a browser keeps to itself, to guess what it is.
  if (searchParams.has("held")) return void response.write(Buffer.alloc(MIB));
  response.setHeader("content-length", bytes);
  send(response, bytes);
}

function send(response: ServerResponse, left: number): void {
  const piece = Buffer.alloc(Math.min(left, MIB), "x");
  if (left === 0) return void response.end();
  response.write(piece, () => send(response, left - piece.length));
}

describe.each([
  { kind: "fast" as const, missing: await missingBrowser() },
  { kind: "stealth" as const, missing: await missingStealth() },
])("files of a $kind session", ({ kind, missing }) => {
  let rig: Rig;
  let site: Server;
  let url = "";

  beforeAll(async () => {
    if (missing) return;
    site = createServer(answer).listen(0, "127.0.0.1");
    await once(site, "listening");
    const { port } = site.address() as AddressInfo;
    url = `http://127.0.0.1:${port}`;
    rig = await Rig.start({ kind, env: { SVC_EGRESS_ALLOW: `127.0.0.1:${port}` } });
  });
  afterAll(async () => {
    if (missing) return;
    await rig.stop();
    site.closeAllConnections();
    site.close();
  });

  async function place(): Promise<string> {
    const id = crypto.randomUUID();
    await rig.place(id);
    onTestFinished(async () => void (await rig.delete(id)));
    return id;
  }

  function call(id: string, method: string, name?: string, init: RequestInit = {}) {
    const query = name === undefined ? "" : `?name=${encodeURIComponent(name)}`;
    return rig.call(method, `/slots/${id}/files${query}`, id, undefined, init);
  }

  async function list(id: string) {
    return SlotFiles.parse(await (await call(id, "GET")).json()).files;
  }

  const whole = (id: string, count = 1) =>
    vi.waitFor(async () => {
      const files = (await list(id)).filter(({ state }) => state !== "inProgress");
      expect(files).toHaveLength(count);
      return files;
    }, PATIENCE);

  const query = (facts: Record<string, string>) => new URLSearchParams(facts).toString();

  const CLIENTS = [
    ["/ws", byWire],
    ["Playwright over /cdp", byCdp],
  ] as const;

  describe.skipIf(missing)("with a browser", () => {
    test.each(CLIENTS)(
      "a click over %s lists its download, in a tab and in a popup",
      async (_, connect) => {
        const id = await place();
        const browser = await connect(rig, id);
        const page = firstPage(browser);
        await page.goto(`${url}/?${query({ name: "résumé 履歴.pdf", bytes: "70000" })}`);
        await page.click("#d");
        const [first] = await whole(id);
        expect(first).toMatchObject({
          name: "résumé 履歴.pdf",
          bytes: 70_000,
          source: "download",
          state: "complete",
          path: "/files/résumé 履歴.pdf",
        });
        const [popup] = await Promise.all([page.waitForEvent("popup"), page.click("#p")]);
        await popup.click("#d");
        expect((await whole(id, 2))[1]).toMatchObject({ name: "résumé 履歴 (1).pdf" });
        const bytes = await (await call(id, "GET", "résumé 履歴 (1).pdf")).bytes();
        expect(bytes.length).toBe(70_000);
        await browser.close();
      },
    );

    test("a client of /ws has its download as ever, and the list keeps it when the client deletes it and goes", async () => {
      const id = await place();
      const browser = await byWire(rig, id);
      const context = await browser.newContext();
      const page = await context.newPage();
      await page.goto(`${url}/?${query({ name: "mine.txt" })}`);
      const [download] = await Promise.all([page.waitForEvent("download"), page.click("#d")]);
      expect(download.suggestedFilename()).toBe("mine.txt");
      const to = `${rig.stateDir}/saved`;
      await download.saveAs(to);
      expect(readFileSync(to, "utf8")).toBe("xxxx");
      await whole(id);
      await download.delete();
      await browser.close();
      expect(await (await call(id, "GET", "mine.txt")).text()).toBe("xxxx");
    });

    test("a raw client has the events and the names that it asked for, and may deny downloads", async () => {
      const id = await place();
      const cdp = await RawCdp.open(rig, id);
      const session = await cdp.attach();
      const behave = (behavior: string) =>
        cdp.call("Browser.setDownloadBehavior", {
          behavior,
          eventsEnabled: true,
          ...(behavior === "allow" && { downloadPath: "/tmp/mine" }),
        });
      await behave("deny");
      const open = () =>
        cdp.call("Page.navigate", { url: `${url}/download?name=raw.txt` }, session);
      const told = (state: string) =>
        vi.waitFor(() => {
          const event = cdp.heard.find(
            ({ method, params }) =>
              method === "Browser.downloadProgress" && params?.["state"] === state,
          );
          expect(event).toBeDefined();
          return event?.params;
        }, PATIENCE);
      await open();
      await told("canceled");
      expect(await list(id)).toEqual([]);
      await behave("allow");
      await open();
      const done = await told("completed");
      expect(done?.["filePath"]).toBe("/downloads/raw.txt");
      expect(await whole(id)).toMatchObject([{ name: "raw.txt", bytes: 4 }]);
      // What one client wanted goes with it: the next one is not denied anything.
      await behave("deny");
      cdp.socket.close();
      await cdp.closed;
      const next = await RawCdp.open(rig, id);
      await next.call(
        "Page.navigate",
        { url: `${url}/download?name=next.txt` },
        await next.attach(),
      );
      expect((await whole(id, 2))[1]).toMatchObject({ name: "next.txt" });
      next.socket.terminate();
    });

    test("a context that a raw client makes downloads too", async () => {
      const id = await place();
      const browser = await byPuppeteer(rig, id);
      const page = await (await browser.createBrowserContext()).newPage();
      await page.goto(`${url}/?${query({ name: "p.txt", bytes: "0" })}`);
      await page.click("#d");
      expect(await whole(id)).toMatchObject([{ name: "p.txt", bytes: 0, state: "complete" }]);
      expect((await call(id, "HEAD", "p.txt")).headers.get("content-length")).toBe("0");
      await browser.disconnect();
    });

    test("an upload is given to a file input by its path", async () => {
      const id = await place();
      const name = `"e\\'é😀 %2F.txt`;
      const stored = await call(id, "PUT", name, { body: "uploaded" });
      expect(await stored.json()).toEqual({ ok: true, name, path: `/files/${name}`, bytes: 8 });
      for (const [, connect] of CLIENTS) {
        const browser = await connect(rig, id);
        const page = firstPage(browser);
        await page.goto(url);
        const client = await page.context().newCDPSession(page);
        const { root } = await client.send("DOM.getDocument");
        const wanted = { nodeId: root.nodeId, selector: "#f" };
        const { nodeId } = await client.send("DOM.querySelector", wanted);
        await client.send("DOM.setFileInputFiles", { nodeId, files: [`/files/${name}`] });
        const seen = await page.evaluate(
          "(async ([file]) => [file.name, await file.text()])(document.querySelector('#f').files)",
        );
        expect(seen).toEqual([name, "uploaded"]);
        await browser.close();
      }
    });

    test("a download above the cap is the client's alone", async () => {
      const id = await place();
      const bytes = String(2 * LIMITS.sessionFileBytes);
      const browser = await byWire(rig, id);
      const page = firstPage(browser);
      await page.goto(`${url}/?${query({ name: "large", bytes })}`);
      const [download] = await Promise.all([page.waitForEvent("download"), page.click("#d")]);
      expect(await download.failure()).toBeNull();
      expect(await whole(id)).toMatchObject([{ name: "large", state: "tooLarge" }]);
      const refused = await call(id, "GET", "large");
      expect(refused.status).toBe(413);
      expect(refused.headers.get("x-svc-file")).toBe("tooLarge");
      await browser.close();
    });

    test("a download that is under way is listed as such, and gone with its session", async () => {
      const id = await place();
      const browser = await byWire(rig, id);
      const page = firstPage(browser);
      await page.goto(`${url}/?${query({ name: "held", held: "1" })}`);
      await page.click("#d");
      await vi.waitFor(async () => {
        expect(await list(id)).toMatchObject([{ name: "held", state: "inProgress" }]);
      }, PATIENCE);
      expect((await call(id, "GET", "held")).status).toBe(409);
      await call(id, "PUT", "whole", { body: Buffer.alloc(64 * MIB) });
      const reading = await call(id, "GET", "whole");
      const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
      const half: RequestInit = { body: readable, duplex: "half" };
      const writing = call(id, "PUT", "half", half);
      const writer = writable.getWriter();
      // More than the system holds for a connection: the pool is at it.
      for (let sent = 0; sent < 64; sent += 1) await writer.write(Buffer.alloc(MIB));
      await rig.delete(id);
      await expect(reading.arrayBuffer()).rejects.toThrow("terminated");
      const refused = await writing;
      expect([refused.status, refused.headers.get("x-svc-file")]).toEqual([404, "ended"]);
      expect((await call(id, "GET", "held")).status).toBe(404);
      expect((await call(id, "PUT", "late", { body: "x" })).status).toBe(404);
    });
  });
});
