import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLog } from "@svc/host-kit/log.ts";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { Allowance } from "../../browser-pool/egress/allowance.ts";
import { judge } from "../../browser-pool/launch/fitness.ts";
import { rootOf } from "../../browser-pool/playwrights/folders.ts";
import { PlaywrightProcesses } from "../../browser-pool/playwrights/processes.ts";
import { launchSlot } from "../../browser-pool/slots/launch.ts";
import type { Slot } from "../../browser-pool/slots/slot.ts";
import { missingBrowser } from "../support/process/needs.ts";

describe.skipIf(await missingBrowser())("a pool's Playwright processes", () => {
  let folder: string;
  let playwrights: PlaywrightProcesses;
  const slots: Slot[] = [];

  beforeAll(async () => {
    const fitness = await judge(null);
    if ("hint" in fitness) throw new Error(fitness.hint);
    folder = await mkdtemp(join(tmpdir(), "orgs-"));
    await chmod(folder, 0o711);
    const own = { fitness: { ...fitness, isolation: "shared-uid" as const }, cgroups: null };
    const log = createLog("test", "silent");
    playwrights = await PlaywrightProcesses.open({ root: rootOf(folder), hostFitness: own, log });
    const allowance = await Allowance.of([]);
    const plan = { ...own, folder, playwrights, allowance, log };
    const { signal } = new AbortController();
    for (const index of [0, 1, 2, 3, 4, 5, 6])
      slots.push(await launchSlot(plan, index + 1, index, signal));
  });
  afterAll(async () => {
    for (const slot of slots) await slot.close();
    await playwrights.close();
    await rm(folder, { recursive: true });
  });

  const at = (index: number): Slot => {
    const slot = slots[index];
    if (!slot) throw new Error("no slot");
    return slot;
  };

  test("the warm one becomes an org's, and lets go of every other slot at once", async () => {
    const [one, two] = [at(0).playwrights, at(1).playwrights];
    await Promise.all([one.warm(), two.warm()]);
    const { current } = playwrights.warm;
    expect([one.processes, two.processes]).toEqual([[current], [current]]);
    expect(current?.slots).toBe(2);
    one.giveTo("org_a", "1.65");
    expect([one.processes, two.processes]).toEqual([[current], []]);
    expect([current?.org, current?.slots]).toEqual(["org_a", 1]);
    expect(at(1).mux.clientCount).toBe(0);
    expect(playwrights.warm.current).toBeNull();
  });

  test("another one takes its place, and is attached to the slot that is next", async () => {
    const next = at(1).playwrights;
    playwrights.warm.attachTo(next);
    await expect.poll(() => next.processes.length).toBe(1);
    await next.warm();
    expect(next.processes).toEqual([playwrights.warm.current]);
    expect(at(1).mux.clientCount).toBe(1);
  });

  test("a session whose clients may never come takes no Playwright that others wait for", async () => {
    const [next, other] = [at(1).playwrights, at(4).playwrights];
    const warm = playwrights.warm.current;
    await other.warm();
    expect(other.processes).toEqual([warm]);
    other.giveTo("org_e", null);
    await other.expect(null);
    expect([other.processes, next.processes]).toEqual([[], [warm]]);
    expect([warm?.org, playwrights.warm.current]).toEqual([null, warm]);
    expect(at(4).mux.clientCount).toBe(0);
  });

  test("a second session of an org has the org's own, and leaves the warm one to others", async () => {
    const warm = playwrights.warm.current;
    const [one, two] = [at(0).playwrights, at(1).playwrights];
    two.giveTo("org_a", null);
    expect(two.processes).toEqual([]);
    await two.expect(null);
    expect(two.processes).toEqual(one.processes);
    expect(playwrights.warm.current).toBe(warm);
    expect(warm?.slots).toBe(0);
  });

  test("one that no client has asked for gives way to a client of /cdp, and comes back when it is asked for", async () => {
    const { playwrights: two, mux } = at(1);
    const own = at(0).playwrights.processes;
    two.giveWay();
    expect([two.processes, mux.clientCount]).toEqual([[], 0]);
    const expected = two.expect(null);
    two.giveWay();
    await expected;
    expect([two.processes, mux.clientCount]).toEqual([[], 0]);
    await two.attach("1.65");
    expect([two.processes, mux.clientCount]).toEqual([own, 1]);
  });

  test("one of the minor that a create named stays beside a client of /cdp", async () => {
    const one = at(0).playwrights;
    const { processes } = one;
    one.giveWay();
    expect(processes).toHaveLength(1);
    expect([one.processes, at(0).mux.clientCount]).toEqual([processes, 1]);
  });

  test("sessions of many orgs while the warm one starts have one each", async () => {
    at(2).playwrights.giveTo("org_b", null);
    at(3).playwrights.giveTo("org_c", null);
    await Promise.all([2, 3].map((index) => at(index).playwrights.attach("1.65")));
    const orgs = slots.map(({ playwrights: { processes } }) => processes.map(({ org }) => org));
    expect(orgs).toEqual([["org_a"], ["org_a"], ["org_b"], ["org_c"], [], [], []]);
  });

  test("none is attached to a slot of another org", () => {
    const [process] = at(0).playwrights.processes;
    expect(() => process?.tie(at(2).playwrights)).toThrow("slots of its org only");
    expect(() => process?.serve("org_b")).toThrow("one org");
  });

  test("an org's sessions of two minors have one of each", async () => {
    await at(0).playwrights.attach("1.63");
    const versions = at(0).playwrights.processes.map(({ version }) => version);
    expect(versions.toSorted()).toEqual(["1.63", "1.65"]);
    expect(at(0).playwrights.processes.map(({ org }) => org)).toEqual(["org_a", "org_a"]);
  });

  test("the warm one serves an org on for good, though it was attached to the slot of nobody", async () => {
    const [next, own] = [at(5).playwrights, at(6).playwrights];
    await next.warm();
    const warm = playwrights.warm.current;
    own.giveTo("org_d", null);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    await own.attach("1.65");
    // Longer than a process without a session stays.
    vi.advanceTimersByTime(60_000);
    vi.useRealTimers();
    expect([next.processes, own.processes]).toEqual([[], [warm]]);
    expect([warm?.org, warm?.slots, warm?.isOver]).toEqual(["org_d", 1, false]);
  });
});
