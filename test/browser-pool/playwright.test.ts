import { mkdtemp, readFile, readlink, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WIRE_VERSIONS } from "@svc/contract/browser/wire-versions.ts";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { missingBrowser } from "../support/process/needs.ts";
import { RawCdp, byCdp, byPuppeteer, byWire, byWireOf, firstPage } from "./clients.ts";
import { below } from "./processes.ts";
import { RawWire } from "./raw-wire.ts";
import { Rig, openOf } from "./rig.ts";
import { Site } from "./site.ts";

describe.skipIf(await missingBrowser())("Playwright's process", () => {
  let rig: Rig;
  let site: Site;
  let secret: Site;
  let count = 0;
  let id: string;

  beforeAll(async () => {
    site = await new Site().start();
    secret = await new Site().start();
    rig = await Rig.start({ env: { SVC_EGRESS_ALLOW: `127.0.0.1:${site.port}` } });
  });
  afterAll(async () => {
    await rig.stop();
    site.stop();
    secret.stop();
  });
  beforeEach(async () => {
    count += 1;
    id = `s${count}`;
    await rig.place(id);
    return async () => void (await rig.delete(id));
  });

  /** The pid of the Playwright of a minor. */
  function pidOf(version: string): number {
    const ofVersion = new RegExp(`^\\S*/node .*playwright-process/main\\.ts \\S+ ${version} ?$`);
    // The oldest: another one of the newest minor is warm. Pids tell no age.
    const [found] = below(rig.child.pid ?? 0)
      .filter(({ command }) => ofVersion.test(command))
      .toSorted((left, right) => left.began - right.began);
    if (!found) throw new Error(`no Playwright ${version}`);
    return found.pid;
  }

  test("has no network, no privilege, no secret, and not the user of the pool", async () => {
    const of = (name: string): string => `/proc/${pidOf("1.65")}/${name}`;
    expect(await readlink(of("ns/net"))).not.toBe(await readlink("/proc/self/ns/net"));
    expect(
      (await readFile(of("net/dev"), "utf8"))
        .match(/^ *\w+:/gm)
        ?.join("")
        .trim(),
    ).toBe("lo:");
    expect(await readFile(of("environ"), "utf8")).not.toMatch(/SVC_|test-host-token|NODE_OPTIONS/);
    const status = await readFile(of("status"), "utf8");
    expect(status).toMatch(/^CapEff:\t0+$/m);
    expect(status).toMatch(/^NoNewPrivs:\t1$/m);
    const uid = process.getuid?.() === 0 ? "19999" : String(process.getuid?.());
    expect(/^Uid:\t(.*)$/m.exec(status)?.[1]?.split("\t")).toEqual([uid, uid, uid, uid]);
  });

  test("sees nothing of the machine but programs, its code and what it shares", async () => {
    const root = `/proc/${pidOf("1.65")}/root`;
    for (const path of ["/etc/passwd", "/root", "/home", rig.stateDir, "/var"])
      await expect(stat(root + path)).rejects.toThrow("ENOENT");
  });

  test("that dies takes its clients' sockets and nothing else, and comes back", async () => {
    const wire = await byWire(rig, id);
    const cdp = await RawCdp.open(rig, id);
    await firstPage(wire).goto("data:text/html,<title>kept</title>");
    const gone = new Promise((resolve) => wire.once("disconnected", resolve));
    await rig.gateway.report(id, (one) => openOf(one) === 2);
    process.kill(pidOf("1.65"), "SIGKILL");
    await gone;
    const report = await rig.gateway.report(id, (one) => openOf(one) === 1);
    expect(report.ended).toBeUndefined();
    expect((await cdp.call("Browser.getVersion")).result).toBeDefined();
    expect(await firstPage(await byWire(rig, id)).title()).toBe("kept");
    await rig.place(`${id}-next`);
    expect(firstPage(await byWire(rig, `${id}-next`)).url()).toBe("about:blank");
    await rig.delete(`${id}-next`);
  });

  test("of one minor that dies leaves the clients of the others alone", async () => {
    const [newest, older] = await Promise.all([byWire(rig, id), byWireOf("1.63", rig, id)]);
    const gone = new Promise((resolve) => older.once("disconnected", resolve));
    process.kill(pidOf("1.63"), "SIGKILL");
    await gone;
    expect(await firstPage(newest).evaluate("1 + 1")).toBe(2);
    expect(await firstPage(await byWireOf("1.63", rig, id)).evaluate("1 + 1")).toBe(2);
  });

  test.each(WIRE_VERSIONS)(
    "of %s sends API requests by the way of the browser",
    async (version) => {
      const page = firstPage(await byWireOf(version, rig, id));
      expect(await (await page.request.get(site.url)).text()).toContain("hello");
      expect((await page.request.get(secret.url)).status()).toBe(403);
      const browser = page.context().browser();
      const context = await browser?.newContext({ proxy: { server: secret.url } });
      // A proxy of a context is a target like others.
      expect((await context?.request.get(site.url))?.status()).toBe(403);
      const wire = await RawWire.open(rig, id, version);
      const made = await wire.call(wire.guidOf("Playwright") ?? "", "newRequest", {});
      expect(made).toContain("not allowed");
      expect(secret.seen).toEqual([]);
    },
  );

  test.each(WIRE_VERSIONS)("of %s brings files both ways, and traces", async (version) => {
    const folder = await mkdtemp(join(tmpdir(), "playwright-"));
    const page = firstPage(await byWireOf(version, rig, id));
    const { tracing } = page.context();
    await tracing.start({ screenshots: true, snapshots: true });
    await page.goto(`${site.url}/files`);
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("#d")]);
    await download.saveAs(join(folder, "down.txt"));
    expect(await readFile(join(folder, "down.txt"), "utf8")).toBe("what was downloaded");
    await page.setInputFiles("#f", join(folder, "down.txt"));
    const content = await page.evaluate("document.querySelector('#f').files[0].text()");
    expect(content).toBe("what was downloaded");
    await tracing.stop({ path: join(folder, "trace.zip") });
    expect((await stat(join(folder, "trace.zip"))).size).toBeGreaterThan(1_000);
    await rm(folder, { recursive: true });
  });

  test("cuts a client that stops reading, and its browser lives on", async () => {
    const wire = await RawWire.open(rig, id, "1.65");
    const other = await byWire(rig, id);
    await rig.gateway.report(id, (report) => openOf(report) === 2);
    wire.socket.pause();
    const arg = { value: { v: "undefined" }, handles: [] };
    // 300 MiB of answers, of which may wait 64 and one more.
    const evaluation = { expression: `"x".repeat(${20 * 1024 * 1024})`, isFunction: false, arg };
    for (let sent = 0; sent < 15; sent += 1)
      wire.send(wire.guidOf("Frame") ?? "", "evaluateExpression", evaluation);
    await rig.gateway.report(id, (report) => openOf(report) === 1);
    expect(await firstPage(other).evaluate("1 + 1")).toBe(2);
  }, 600_000);

  test("leaves dialogs to the client that drives the browser, whichever that is", async () => {
    const older = (): Promise<Browser> => byWireOf("1.63", rig, id);
    const [page] = await (await byPuppeteer(rig, id)).pages();
    page?.on("dialog", (dialog) => void dialog.accept("me"));
    expect(await page?.evaluate("prompt('?')")).toBe("me");
    await page?.browser().disconnect();
    const clients = [() => byCdp(rig, id), older, () => byWire(rig, id)];
    for (const [before, open] of clients.entries()) {
      // The pool hears of a client's end a moment after the client.
      await rig.gateway.report(id, (one) => openOf(one) === 0 && one.closes > before);
      const browser = await open();
      const first = firstPage(browser);
      first.on("dialog", (dialog) => void dialog.accept("me"));
      expect(await first.evaluate("prompt('?')")).toBe("me");
      await browser.close();
    }
  });
});
