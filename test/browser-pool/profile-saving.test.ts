import { StorageState } from "@svc/contract/browser/storage-state.ts";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { killIfThere } from "../support/process/process-tree.ts";
import { byCdp, byWire, firstPage } from "./clients.ts";
import { describeKinds } from "./kinds.ts";
import { browsersOf } from "./processes.ts";
import { Rig } from "./rig.ts";
import { Site } from "./site.ts";

const PATIENCE = { timeout: 100_000, interval: 50 };

describeKinds("a session that saves its profile as it ends", (kind) => {
  let site: Site;
  let rig: Rig;
  let id = "";

  beforeAll(async () => {
    site = await new Site().start();
    rig = await Rig.start({ kind, env: { SVC_EGRESS_ALLOW: `127.0.0.1:${site.port}` } });
  });
  afterAll(async () => {
    await rig.stop();
    site.stop();
  });
  beforeEach(() => {
    id = crypto.randomUUID();
    rig.gateway.profiles.length = 0;
    rig.gateway.profileAnswers = [];
  });

  /** Tells how long it took. */
  async function placeAndWrite(facts: { expiresAt?: number } = {}): Promise<number> {
    const began = performance.now();
    await rig.place(id, { saveProfile: "prof_1", ...facts });
    const browser = await (kind === "fast" ? byWire : byCdp)(rig, id);
    await firstPage(browser).goto(site.url);
    await firstPage(browser).evaluate(`localStorage.setItem("who", "${id}")`);
    return performance.now() - began;
  }

  const saved = (count = 1) =>
    vi.waitFor(() => {
      expect(rig.gateway.profiles).toHaveLength(count);
      return rig.gateway.profiles.at(-1);
    }, PATIENCE);

  const logged = (event: string) =>
    vi.waitFor(() => {
      const line = rig.stderr.split("\n").findLast((one) => one.includes(event));
      expect(line).toBeDefined();
      return line;
    }, PATIENCE);

  async function expectSaved(): Promise<void> {
    const stored = await saved();
    expect(stored?.path).toBe(`/internal/sessions/${id}/profile/prof_1`);
    const { origins } = StorageState.parse(JSON.parse(stored?.body ?? ""));
    expect(origins).toMatchObject([
      { origin: site.url, localStorage: [{ name: "who", value: id }] },
    ]);
  }

  test("saves it when it is released", async () => {
    await placeAndWrite();
    await rig.delete(id);
    await expectSaved();
  });

  test("saves it at its deadline", async () => {
    await rig.warm();
    const tookMs = await placeAndWrite();
    await rig.delete(id);
    await expectSaved();
    rig.gateway.profiles.length = 0;
    id = crypto.randomUUID();
    await rig.warm();
    // Longer than its client takes, however busy the machine is.
    await placeAndWrite({ expiresAt: Date.now() + 15_000 + 5 * tookMs });
    await expectSaved();
  }, 300_000);

  test("saves it although the gateway is busy for a moment, and not when the gateway refuses", async () => {
    await placeAndWrite();
    rig.gateway.profileAnswers = [503, 204];
    await rig.delete(id);
    await saved(2);
    id = crypto.randomUUID();
    await placeAndWrite();
    rig.gateway.profileAnswers = [409];
    await rig.delete(id);
    await saved(3);
    expect(await logged("profile_not_saved")).toContain("409 Refused");
  });

  test("does not save what a crash has left, and says so", async () => {
    await placeAndWrite();
    const before = rig.stderr.length;
    for (const pid of browsersOf(rig.child.pid ?? 0)) killIfThere(pid);
    await vi.waitFor(() => {
      const line = rig.stderr.slice(before);
      expect(line).toContain("profile_not_saved");
      expect(line).toContain("the browser died");
    }, PATIENCE);
    expect(rig.gateway.profiles).toEqual([]);
  });
});
