import { env } from "cloudflare:workers";
import { LIMITS } from "@svc/contract/limits.ts";
import { SandboxList } from "@svc/contract/vm/sandbox.ts";
import { describe, expect, test, vi } from "vitest";
import { copyOf, forgetCopies, noteCopy } from "../../../control-plane/record-copies.ts";
import { findVmHost } from "../../../durable-objects/sandbox/find-host.ts";
import { runScheduled } from "../../../src/scheduled.ts";
import { FAKE_PLATFORM } from "../../support/fakes/platform.ts";
import { snapshotting } from "../../support/worker/snapshots.ts";
import { anotherVmHost, type VmHost } from "../../support/worker/vm-host.ts";

const capabilities = ["snapshots"];
const withRoom = (memMb: number) => ({
  capabilities,
  free: { cpu: 64, memMb, diskGb: 100, slots: 20 },
});

/** A durable snapshot whose own host is full, and two hosts that have to fetch it. */
async function elsewhere() {
  const all = await snapshotting();
  await all.host.steer({ store: "yes" });
  const { snapshotId } = await all.taken();
  await all.host.steer({ put: "full" });
  const first = await anotherVmHost(withRoom(90_000));
  const other = await anotherVmHost(withRoom(80_000));
  const saved = { hostId: all.host.hostId, isDurable: true, platform: FAKE_PLATFORM };
  const source = { type: "snapshot", id: snapshotId, recordPath: "" } as const;
  const size = { cpu: 2, memMb: 2048, diskGb: 4, envs: {} };
  const find = (id: string, fetchMs: number) =>
    findVmHost(env, {
      subject: { org: all.orgId, id },
      body: { kind: "sandbox", source, isolation: "dedicated", ...size },
      // Short where it is waited for, and longer than it takes to ask.
      acquireMs: 5_000,
      fetchMs,
      origin: { saved, platform: null },
      isWanted: () => true,
    });
  return { ...all, snapshotId, first, other, find };
}

const asked = async (host: VmHost): Promise<number> => (await host.calls("PUT")).length;

describe("a host that has to fetch what a machine begins from", () => {
  test("has longer than one that has it; what it did not do in time is 503 and says what to do", async () => {
    const { first, other, find } = await elsewhere();
    await first.steer({ put: "wait" });
    const long = find("long", 60_000);
    await vi.waitFor(async () => expect(await asked(first)).toBe(1), 30_000);
    // Begun later, and over earlier: that is how long one would have that has it.
    expect(await find("short", 0)).toMatchObject({
      refused: { code: "NoCapacity", context: { hint: expect.stringContaining("in a minute") } },
    });
    await first.steer({});
    expect(await long).toMatchObject({ place: { hostId: first.hostId } });
    // Fetched twice it is there no sooner.
    expect(await asked(other)).toBe(0);
  });

  test("is asked again by the next try, though another one is emptier by now", async () => {
    const { first, other, find, snapshotId } = await elsewhere();
    await first.steer({ put: "wait" });
    expect(await find("once", 0)).toMatchObject({ refused: { code: "NoCapacity" } });
    expect(await copyOf(env.DB, snapshotId, Date.now())).toBe(first.hostId);
    await other.beat(withRoom(95_000));
    await first.steer({});
    expect(await find("twice", 60_000)).toMatchObject({ place: { hostId: first.hostId } });
    expect(await asked(other)).toBe(0);
  });

  test("and refuses it is followed by the next, which is the one to come back to then", async () => {
    const { first, other, find, snapshotId } = await elsewhere();
    await first.steer({ put: "full" });
    expect(await find("a", 60_000)).toMatchObject({ place: { hostId: other.hostId } });
    expect(await copyOf(env.DB, snapshotId, Date.now())).toBe(other.hostId);
  });

  test("is found without the note too: D1 fails, the fork does not", async () => {
    const { first, find } = await elsewhere();
    const broken = vi.spyOn(env.DB, "prepare").mockImplementation(() => {
      throw new Error("D1 is down");
    });
    const found = await find("a", 60_000);
    broken.mockRestore();
    expect(found).toMatchObject({ place: { hostId: first.hostId } });
  });

  test("the place of its machine in the cap is held for as long", async () => {
    const { first, fork, snapshotId, get } = await elsewhere();
    await first.steer({ put: "wait" });
    const forking = fork(snapshotId);
    await vi.waitFor(async () => expect(await asked(first)).toBe(1), 30_000);
    const list = SandboxList.parse(await (await get("/sandboxes?state=starting")).json());
    const [starting] = list.sandboxes;
    const held = Date.parse(starting?.expiresAt ?? "") - Date.parse(starting?.createdAt ?? "");
    expect(held).toBeGreaterThan(LIMITS.fetchForkMs);
    await first.steer({});
    expect((await forking).status).toBe(201);
  });
});

test("a copy is forgotten when no host has it any more", async () => {
  const now = Date.now();
  const old = now - LIMITS.copyKeptMs;
  await noteCopy(env.DB, { recordId: "snap_old", hostId: "a" }, old);
  await noteCopy(env.DB, { recordId: "snap_new", hostId: "a" }, old + 60_000);
  expect(await copyOf(env.DB, "snap_old", now)).toBeNull();
  expect(await copyOf(env.DB, "snap_new", now)).toBe("a");
  await runScheduled({} as ScheduledController, env);
  const sql = "SELECT record_id FROM record_copies WHERE record_id IN ('snap_old', 'snap_new')";
  expect((await env.DB.prepare(sql).all()).results).toEqual([{ record_id: "snap_new" }]);
  await forgetCopies(env.DB, now + LIMITS.copyKeptMs);
  expect((await env.DB.prepare(sql).all()).results).toEqual([]);
});
