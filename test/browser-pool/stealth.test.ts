import { readFileSync } from "node:fs";
import { chmod, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { PoolHeartbeat } from "@svc/contract/host-protocol/heartbeat.ts";
import type { PlaceSlot } from "@svc/contract/host-protocol/slots.ts";
import { groupsOf } from "@svc/host-kit/cgroups.ts";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { killIfThere } from "../support/process/process-tree.ts";
import { Builds } from "../../browser-pool/playwrights/builds.ts";
import { missingBrowser, missingStealth } from "../support/process/needs.ts";
import { RawCdp, byCdp, byWire, byWireOf, firstPage } from "./clients.ts";
import { below, browsersOf } from "./processes.ts";
import { Rig } from "./rig.ts";

const isMissing = Boolean((await missingStealth()) ?? (await missingBrowser()));
const XVFB = /^\S*Xvfb /;
/** Whether a page sees that a client has enabled the domain Runtime, as Playwright does at every page that it attaches to. */
const DRIVEN = `(() => {
  let isSeen = false;
  Error.prepareStackTrace = () => { isSeen = true; return ""; };
  console.debug(new Error());
  delete Error.prepareStackTrace;
  return isSeen;
})()`;
/** Looks whether the first page sees that. */
async function driven(raw: RawCdp): Promise<() => Promise<unknown>> {
  const session = await raw.attach();
  return async () => {
    const { result } = await raw.call("Runtime.evaluate", { expression: DRIVEN }, session);
    return Object(result?.["result"]).value;
  };
}
const HAS_PATCHRIGHT = new Builds().of("1.63", "stealth") !== "1.63";
const uidOf = (pid: number): string =>
  /^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? "";

describe.skipIf(isMissing)("a browser of kind stealth", () => {
  let rig: Rig;
  let scratch: string;

  beforeAll(async () => {
    scratch = await mkdtemp(join(tmpdir(), "st-"));
    await chmod(scratch, 0o711);
    rig = await Rig.start({ kind: "stealth", env: { SVC_WARM_FAST: "1", TMPDIR: scratch } });
    await bothWarm();
  });
  afterAll(async () => {
    await rig.stop();
    expect(await readdir(scratch)).toEqual([]);
    await rm(scratch, { recursive: true });
  });

  const placed: string[] = [];
  const place = async (id: string, ask: Partial<PlaceSlot> = {}): Promise<void> => {
    placed.push(id);
    await rig.place(id, ask);
  };
  const bothWarm = (): Promise<PoolHeartbeat> =>
    rig.gateway.beat(
      ({ kinds: { fast, stealth } }) =>
        [fast, stealth].every((kind) => kind?.idle === 1 && kind.busy + kind.recycling === 0),
      // The last heartbeat may say what was before.
      rig.gateway.beats.length,
    );
  /** What a test has left is gone, and both kinds are warm again. */
  afterEach(async () => {
    for (const id of placed.splice(0)) await rig.delete(id);
    await bothWarm();
  });

  const pool = (): number => rig.child.pid ?? 0;
  const screens = (): number[] =>
    below(pool())
      .filter(({ command }) => XVFB.test(command))
      .map(({ pid }) => pid);

  /** What slots have on this machine, counted. */
  async function inventory(): Promise<Record<string, number>> {
    const [run = ""] = (await readdir(scratch)).map((name) => join(scratch, name));
    const shared = join(run, "wire");
    const count = async (folder: string): Promise<number> => (await readdir(folder)).length;
    const groups = await Promise.all((await groupsOf(basename(run))).map((one) => readdir(one)));
    return {
      browsers: browsersOf(pool()).length,
      screens: screens().length,
      "entries of the run": await count(run),
      "folders of files": await count(join(shared, "files")),
      "sockets to the outside": await count(join(shared, "egress")),
      "cgroups of slots": groups.flat().filter((name) => /^\d+$/.test(name)).length,
    };
  }

  test("has a window on a screen of its own, and is headless nowhere", async () => {
    await place("window");
    const browser = await byCdp(rig, "window");
    const seen = await firstPage(browser).evaluate(`({
      agent: navigator.userAgent,
      driven: navigator.webdriver,
      screen: [screen.width, screen.height],
      isWide: outerWidth > 1900 && outerHeight > 1000 && innerWidth > 1900,
    })`);
    expect(seen).toEqual({
      agent: expect.not.stringContaining("Headless"),
      driven: false,
      screen: [1920, 1080],
      isWide: true,
    });
    await browser.close();
  });

  test("has no Playwright at its pages before a client of /ws comes, though the create names its version", async () => {
    await place("alone", { wireVersion: "1.65" });
    const raw = await RawCdp.open(rig, "alone");
    const isDriven = await driven(raw);
    expect(await isDriven()).toBe(false);
    const wire = await byWire(rig, "alone");
    await firstPage(wire).goto("data:text/html,<title>one</title>");
    expect(await isDriven()).toBe(true);
    await wire.close();
    raw.socket.close();
  });

  test.skipIf(!HAS_PATCHRIGHT)("shows nothing of a Playwright 1.63 that drives it", async () => {
    await place("unmarked");
    const raw = await RawCdp.open(rig, "unmarked");
    const isDriven = await driven(raw);
    const wire = await byWireOf("1.63", rig, "unmarked");
    const page = firstPage(wire);
    await page.goto("data:text/html,<title>one</title><button onclick='document.title = 2'>");
    await page.click("button");
    expect(await page.title()).toBe("2");
    expect(await isDriven()).toBe(false);
    const other = await (await wire.newContext()).newPage();
    expect(await other.evaluate(DRIVEN)).toBe(false);
    await wire.close();
    raw.socket.close();
  });

  test("and a fast one never have the same uid", async () => {
    const uids = browsersOf(pool()).map(uidOf);
    expect(uids.length).toBe(2);
    expect(new Set(uids).size).toBe(process.getuid?.() === 0 ? 2 : 1);
  });

  test("a killed screen ends its session, and another browser takes its place with nothing left", async () => {
    const [screen, ...others] = screens();
    if (screen === undefined || others.length > 0) throw new Error("not one screen");
    await place("dark");
    killIfThere(screen);
    const report = await rig.gateway.report("dark", ({ ended }) => ended !== undefined);
    expect(report.ended).toBe("browser_crashed");
    await rig.gateway.beat(
      ({ kinds, slots }) => kinds.stealth?.idle === 1 && slots.every(({ id }) => id !== "dark"),
    );
    await expect.poll(() => screens().length).toBe(1);
    await expect.poll(() => browsersOf(pool()).length).toBe(2);
  });

  test("and fast ones, back to back, leave processes, folders, sockets and cgroups as they were", async () => {
    const before = await inventory();
    for (let n = 0; n < 8; n += 1) {
      const id = `row-${n}`;
      await place(id, { kind: n % 2 === 0 ? "stealth" : "fast" });
      const browser = await byCdp(rig, id);
      await firstPage(browser).goto("data:text/html,<title>one</title>");
      await browser.close();
      await rig.delete(id);
    }
    await bothWarm();
    // A slot's folder is removed last, behind the heartbeat that tells of its successor.
    await expect.poll(inventory).toEqual(before);
  });

  test("no kind takes the place of the other, though the other has a warm browser", async () => {
    for (const kind of ["fast", "stealth"] as const) {
      await place(kind, { kind });
      const other = kind === "fast" ? "stealth" : "fast";
      const beat = await rig.gateway.beat(({ kinds }) => kinds[kind]?.busy === 1);
      expect(beat.kinds[other]).toMatchObject({ idle: 1, busy: 0 });
      expect(beat.slots).toMatchObject([{ id: kind, kind }]);
      await rig.delete(kind);
      await rig.gateway.beat(({ kinds }) => kinds[kind]?.busy === 0 && kinds[kind]?.idle === 1);
    }
  });
});

describe("a pool without stealth browsers", () => {
  const rigs: Rig[] = [];
  afterEach(async () => void (await Promise.all(rigs.splice(0).map((rig) => rig.stop()))));

  test.each([
    [{ SVC_CHROMIUM_STEALTH: "/nonexistent/chromium" }, "SVC_CHROMIUM_STEALTH"],
    [{ SVC_MAX_STEALTH: "0" }, "SVC_MAX_STEALTH"],
  ])("with %j says why at once, and refuses the kind alone", async (env, why) => {
    const rig = await Rig.start({ env });
    rigs.push(rig);
    const hint = expect.stringContaining(why);
    expect(rig.ready.table[1]).toMatchObject({ what: "browsers (stealth)", on: false, note: hint });
    const beat = await rig.gateway.beat(() => true);
    expect(beat.kinds.stealth).toEqual({ idle: 0, busy: 0, recycling: 0, hint });
    expect(beat.kinds.fast?.hint ?? "").not.toContain(why);
    const refused = await rig.put("s", { kind: "stealth" });
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ hint });
  });
});
