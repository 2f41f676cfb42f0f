import type { IncomingMessage } from "node:http";
import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import { OPENS_HEADER } from "@svc/contract/host-protocol/slots.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import WebSocket from "ws";
import { killIfThere, signalIfThere } from "../support/process/process-tree.ts";
import { missingBrowser } from "../support/process/needs.ts";
import { RawCdp, byPuppeteer, byWire, firstPage } from "./clients.ts";
import { browsersOf } from "./processes.ts";
import { Rig, openOf } from "./rig.ts";

describe.skipIf(await missingBrowser())("how sessions end", () => {
  let rig: Rig;
  let count = 0;
  let id: string;

  beforeAll(async () => {
    rig = await Rig.start();
  });
  afterAll(() => rig.stop());
  beforeEach(async () => {
    count += 1;
    id = `s${count}`;
    return async () => void (await rig.delete(id));
  });

  /** A raw socket on /ws, past its upgrade. */
  async function wireSocket(): Promise<WebSocket> {
    const { url, headers } = await rig.socket("ws", id);
    const socket = new WebSocket(url, { headers });
    socket.on("error", () => {});
    await new Promise((resolve) => socket.once("open", resolve));
    return socket;
  }

  const closeOf = (socket: WebSocket) =>
    new Promise<{ code: number; reason: string }>((resolve) => {
      socket.once("close", (code, reason) => resolve({ code, reason: String(reason) }));
    });

  test("a killed browser is told at once, its sockets close, and the pool fills up again", async () => {
    await rig.warm();
    await rig.place(id);
    const cdp = await RawCdp.open(rig, id);
    const wire = await wireSocket();
    const closed = closeOf(wire);
    await rig.gateway.beat(({ kinds }) => kinds.fast?.idle === 1 && kinds.fast.busy === 1);
    // The older one is busy; the warm one must survive.
    const [first] = browsersOf(rig.child.pid ?? 0);
    if (first === undefined) throw new Error("no browser");
    killIfThere(first);
    const report = await rig.gateway.report(id, (one) => one.ended !== undefined);
    expect(report).toMatchObject({ ended: "browser_crashed", opens: 2, closes: 2 });
    const gone = { code: CLOSE_CODES.gone, reason: "The browser crashed." };
    expect(await cdp.closed).toEqual(gone);
    expect(await closed).toEqual(gone);
    await rig.gateway.beat(({ kinds }) => kinds.fast?.idle === 1 && kinds.fast.busy === 0);
    expect((await rig.put(id)).status).toBe(409);
  });

  test("a call that waits when the browser dies is rejected", async () => {
    await rig.place(id);
    const page = firstPage(await byWire(rig, id));
    const waiting = page.evaluate("new Promise(() => {})").then(
      () => "answered",
      (error: Error) => error.message,
    );
    await rig.gateway.report(id, (report) => openOf(report) === 1);
    for (const pid of browsersOf(rig.child.pid ?? 0)) killIfThere(pid);
    expect(await waiting).toMatch(/closed|crashed|gone/);
  });

  test("an ended session is repeated until a heartbeat with it is answered", async () => {
    await rig.warm();
    rig.gateway.pollMs = 500;
    onTestFinished(() => void (rig.gateway.pollMs = 5_000));
    rig.gateway.status = 503;
    await rig.place(id);
    const from = rig.gateway.beats.length;
    for (const pid of browsersOf(rig.child.pid ?? 0)) killIfThere(pid);
    const has = (beat: { slots: { id: string; ended?: string }[] }): boolean =>
      beat.slots.some((slot) => slot.id === id && slot.ended === "browser_crashed");
    const first = await rig.gateway.beat(has, from);
    const second = await rig.gateway.beat((beat) => beat.seq > first.seq, from);
    expect(has(second)).toBe(true);
    rig.gateway.status = 200;
    await rig.gateway.beat((beat) => beat.seq > second.seq && !has(beat), from);
  });

  test("an ended session that the gateway asks for again is repeated until the gateway has taken it", async () => {
    rig.gateway.pollMs = 500;
    onTestFinished(() => void Object.assign(rig.gateway, { pollMs: 5_000, again: [] }));
    rig.gateway.again = ["another", id];
    const from = rig.gateway.beats.length;
    await rig.place(id);
    for (const pid of browsersOf(rig.child.pid ?? 0)) killIfThere(pid);
    const has = (beat: { slots: { id: string; ended?: string }[] }): boolean =>
      beat.slots.some((slot) => slot.id === id && slot.ended === "browser_crashed");
    const first = await rig.gateway.beat(has, from);
    const third = await rig.gateway.beat((beat) => beat.seq > first.seq + 1, from);
    expect(has(third)).toBe(true);
    rig.gateway.again = [];
    await rig.gateway.beat((beat) => beat.seq > third.seq && !has(beat), from);
  });

  test("at the deadline the sockets close with its code and the session is gone", async () => {
    const { seq } = await rig.place(id);
    const began = performance.now();
    await RawCdp.open(rig, id);
    await wireSocket();
    const tookMs = performance.now() - began;
    await rig.gateway.beat((one) => one.seq > seq && one.kinds.fast?.idle === 1);
    await rig.delete(id);
    id += "-late";
    // Longer than its sockets take to come, however busy the machine is.
    await rig.place(id, { expiresAt: Date.now() + 5_000 + 10 * tookMs });
    const cdp = await RawCdp.open(rig, id);
    const closed = closeOf(await wireSocket());
    const late = { code: CLOSE_CODES.deadline, reason: expect.stringContaining("deadline") };
    expect(await cdp.closed).toEqual(late);
    expect(await closed).toEqual(late);
    expect(await rig.gateway.report(id, (one) => one.ended !== undefined)).toMatchObject({
      ended: "expired",
    });
    await expect(RawCdp.open(rig, id)).rejects.toThrow("404");
  });

  test("a close frame is clean and a cut is dropped, on both endpoints", async () => {
    await rig.place(id);
    const open = { ws: wireSocket, cdp: async () => (await RawCdp.open(rig, id)).socket };
    for (const room of ["ws", "cdp"] as const)
      for (const [how, end] of [
        ["close", "clean"],
        ["terminate", "dropped"],
      ] as const) {
        const socket = await open[room]();
        await rig.gateway.report(id, (report) => openOf(report) === 1);
        socket[how]();
        const report = await rig.gateway.report(id, (one) => openOf(one) === 0);
        expect([room, how, report.lastClose]).toEqual([room, how, end]);
      }
  });

  test("a socket that came and went between two heartbeats is counted", async () => {
    await rig.place(id);
    for (let n = 0; n < 3; n += 1) {
      const socket = n % 2 === 0 ? await wireSocket() : (await RawCdp.open(rig, id)).socket;
      socket.close();
    }
    const report = await rig.gateway.report(id, ({ closes }) => closes === 3);
    expect(report).toMatchObject({ opens: 3, lastClose: "clean" });
  });

  test("an upgrade that is answered names its socket's number on both endpoints", async () => {
    await rig.place(id);
    for (const [n, kind] of (["ws", "cdp", "ws"] as const).entries()) {
      const { url, headers } = await rig.socket(kind, id);
      const socket = new WebSocket(url, { headers });
      const answer = await new Promise<IncomingMessage>((resolve) =>
        socket.once("upgrade", resolve),
      );
      expect(answer.headers[OPENS_HEADER]).toBe(String(n + 1));
      socket.terminate();
    }
  });

  test("a browser that takes no client is 404 on /cdp and says nothing of itself, before the gateway gives up", async () => {
    await rig.place(id);
    const browsers = browsersOf(rig.child.pid ?? 0);
    for (const pid of browsers) signalIfThere(pid, "SIGSTOP");
    try {
      const signal = AbortSignal.timeout(LIMITS.hostCallMs);
      const discover = async (): Promise<[number, string]> => {
        const path = `/cdp/${encodeURIComponent(id)}`;
        const answer = await rig.call("GET", path, id, undefined, { signal });
        return [answer.status, await answer.text()];
      };
      const [discovered] = await Promise.all([
        discover(),
        expect(RawCdp.open(rig, id)).rejects.toThrow("404"),
      ]);
      expect(discovered).toEqual([502, "The browser did not answer\n"]);
      expect(LIMITS.slotUpgradeMs).toBeLessThan(LIMITS.poolUpgradeMs);
    } finally {
      for (const pid of browsers) signalIfThere(pid, "SIGCONT");
    }
    const report = await rig.gateway.report(id, () => true);
    expect(report).toMatchObject({ opens: 0, closes: 0 });
    expect((await (await RawCdp.open(rig, id)).call("Browser.getVersion")).result).toBeDefined();
  });

  test("Playwright and Puppeteer close cleanly", async () => {
    await rig.place(id);
    for (const open of [byWire, byPuppeteer]) {
      const browser = await open(rig, id);
      await rig.gateway.report(id, (report) => openOf(report) === 1);
      await browser.close();
      const report = await rig.gateway.report(id, (one) => openOf(one) === 0);
      expect(report.lastClose).toBe("clean");
    }
  });

  test("Browser.close ends the client's socket, not the browser", async () => {
    await rig.place(id);
    for (const method of ["Browser.close", "Browser.crash"]) {
      const client = await RawCdp.open(rig, id);
      expect(await client.call(method)).toEqual({ id: 1, result: {} });
      expect((await client.closed).code).toBe(CLOSE_CODES.normal);
    }
    const left = await rig.gateway.report(id, ({ closes }) => closes === 2);
    expect(left).toMatchObject({ opens: 2, lastClose: "clean" });
    const other = await RawCdp.open(rig, id);
    expect(await other.call("Browser.crashGpuProcess")).toMatchObject({ error: { code: -32000 } });
    expect((await other.call("Browser.getVersion")).result).toBeDefined();
  });

  test("Browser.close through a wire client's own CDP session is answered and harms nobody", async () => {
    await rig.place(id);
    const wire = await byWire(rig, id);
    const session = await wire.newBrowserCDPSession();
    await session.send("Browser.close");
    expect(await firstPage(wire).evaluate("1 + 1")).toBe(2);
  });

  test("a session that the gateway wants ended closes its sockets and is reported no more", async () => {
    await rig.place(id);
    const cdp = await RawCdp.open(rig, id);
    rig.gateway.end = [id];
    await rig.place("other-1");
    expect(await cdp.closed).toMatchObject({ code: CLOSE_CODES.gone });
    await rig.gateway.beat((beat) => beat.slots.every((slot) => slot.id !== id));
    await rig.delete("other-1");
  });

  test("a warm browser that dies is replaced, and no session ends", async () => {
    const { seq } = await rig.place(id);
    // Those of the sessions before it are gone, too.
    await rig.gateway.beat(
      ({ seq: at, kinds: { fast } }) =>
        at > seq && fast?.idle === 1 && fast.busy === 1 && fast.recycling === 0,
    );
    const browsers = () => browsersOf(rig.child.pid ?? 0);
    const [busy, warm, ...others] = browsers();
    if (warm === undefined) throw new Error("no warm browser");
    expect(others).toEqual([]);
    killIfThere(warm);
    await expect
      .poll(() => browsers().filter((pid) => pid !== warm && pid !== busy))
      .toHaveLength(1);
    const beat = await rig.gateway.beat(
      (one) => one.kinds.fast?.idle === 1,
      rig.gateway.beats.length,
    );
    expect(beat.slots).toMatchObject([{ id }]);
    expect(beat.slots).toEqual([expect.not.objectContaining({ ended: expect.anything() })]);
  });

  test("a renderer that crashes leaves the session alive", async () => {
    await rig.place(id);
    const wire = await byWire(rig, id);
    const page = firstPage(wire);
    const crashed = page.waitForEvent("crash");
    await page.goto("chrome://crash").catch(() => {});
    await crashed;
    const next = await wire.contexts()[0]?.newPage();
    expect(await next?.evaluate("1 + 1")).toBe(2);
  });
});
