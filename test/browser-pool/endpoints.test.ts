import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import WebSocket from "ws";
import { RawCdp, byCdp, byPuppeteer, byWire, firstPage } from "./clients.ts";
import { describeKinds } from "./kinds.ts";
import { Rig } from "./rig.ts";

const PAGE =
  "data:text/html,<title>seen by all</title><button onclick=document.title='clicked'>b</button>";

describeKinds("endpoints", (kind) => {
  let rig: Rig;
  let count = 0;
  let id: string;

  beforeAll(async () => {
    rig = await Rig.start({ kind });
  });
  afterAll(() => rig.stop());
  beforeEach(async () => {
    count += 1;
    id = `s${count}`;
    await rig.place(id);
    return async () => void (await rig.delete(id));
  });

  test("a new session has a page on /ws", async () => {
    const browser = await byWire(rig, id);
    expect(browser.contexts()).toHaveLength(1);
    expect(firstPage(browser).url()).toBe("about:blank");
  });

  test("a new session has a page on /cdp, for Playwright and for Puppeteer", async () => {
    expect(firstPage(await byCdp(rig, id)).url()).toBe("about:blank");
    expect((await (await byPuppeteer(rig, id)).pages()).map((page) => page.url())).toEqual([
      "about:blank",
    ]);
  });

  test("all clients drive the same browser", async () => {
    const wire = await byWire(rig, id);
    const [cdp, puppeteer] = await Promise.all([byCdp(rig, id), byPuppeteer(rig, id)]);
    await firstPage(wire).goto(PAGE);
    await expect.poll(() => firstPage(cdp).title()).toBe("seen by all");
    const [page] = await puppeteer.pages();
    // It hears of the other client's navigation in its own time.
    await (await page?.waitForSelector("button"))?.click();
    await expect.poll(() => firstPage(wire).title()).toBe("clicked");
    expect((await firstPage(cdp).screenshot()).length).toBeGreaterThan(100);
  });

  test("a page opened on one endpoint is seen on the other", async () => {
    const wire = await byWire(rig, id);
    const cdp = await byCdp(rig, id);
    await cdp.contexts()[0]?.newPage();
    await expect.poll(() => wire.contexts()[0]?.pages().length).toBe(2);
    await wire.contexts()[0]?.newPage();
    await expect.poll(() => cdp.contexts()[0]?.pages().length).toBe(3);
  });

  test("a client that leaves and comes back finds its tabs, on both endpoints", async () => {
    const first = await byWire(rig, id);
    await firstPage(first).goto(PAGE);
    await first.close();
    const second = await byWire(rig, id);
    expect(await firstPage(second).title()).toBe("seen by all");
    await second.close();
    expect(await firstPage(await byCdp(rig, id)).title()).toBe("seen by all");
  });

  test("a client hears nothing of another client's sessions", async () => {
    const [one, two] = [await RawCdp.open(rig, id), await RawCdp.open(rig, id)];
    const session = await one.attach();
    await one.call("Runtime.enable", {}, session);
    await one.call("Runtime.evaluate", { expression: "console.log(1)" }, session);
    await two.call("Browser.getVersion");
    expect(two.heard).toHaveLength(1);
    expect(one.heard.some((reply) => reply.method === "Runtime.consoleAPICalled")).toBe(true);
  });

  test("a client cannot use a session of another client", async () => {
    const [one, two] = [await RawCdp.open(rig, id), await RawCdp.open(rig, id)];
    const session = await one.attach();
    const reply = await two.call("Runtime.evaluate", { expression: "1" }, session);
    expect(reply).toMatchObject({ error: { code: -32001 }, sessionId: session });
  });

  test("what a client sends that is no call is answered with an error, and the socket lives", async () => {
    const client = await RawCdp.open(rig, id);
    for (const text of ["{", "null", "7", '{"id":"a"}', '{"method":"Browser.getVersion"}'])
      client.socket.send(text);
    client.socket.send('{"id":1000000}');
    await client.call("Browser.getVersion");
    expect(client.heard.filter((reply) => reply.error)).toHaveLength(6);
    expect(await client.call("No.such")).toMatchObject({ error: { code: -32601 } });
  });

  test("a session that is not there is 404 in plain text, a wrong bearer 401", async () => {
    const status = async (room: "ws" | "cdp", path: string, as: string): Promise<string> => {
      const { url } = await rig.socket(room, path);
      const { headers } = await rig.socket(room, as);
      const socket = new WebSocket(url, { headers });
      return new Promise((resolve) => socket.once("error", (error) => resolve(error.message)));
    };
    for (const room of ["ws", "cdp"] as const) {
      expect(await status(room, "nobody", "nobody")).toContain("404");
      expect(await status(room, id, "nobody")).toContain("401");
    }
  });
});
