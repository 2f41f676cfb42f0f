import { rmSync } from "node:fs";
import { StateRefused, VmCheckpointed, VmResumed } from "@svc/contract/host-protocol/vm-states.ts";
import { VmRefused } from "@svc/contract/host-protocol/vms.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { otherCache } from "../../support/process/vm-cache.ts";
import { COUNT, bodyOf, fork, pause, post, resume, runs, snapshot } from "../rig/acts.ts";
import { missingMachine } from "../rig/needs.ts";
import { Objects } from "../rig/objects.ts";
import { Rig } from "../rig/rig.ts";

const MACHINE_MS = 400_000;
const ORG = "snapshot/org_test";
/** What is saved is stored at once. */
const SOON = { SVC_SHIP_DELAY_MS: "0" };

const resumeFrom = async (rig: Rig, id: string, recordId = "") =>
  VmResumed.parse(await bodyOf(await post(rig, id, "resume", { recordId }), 200));

async function refusal(response: Response) {
  const { code } = StateRefused.parse(await response.json());
  return `${response.status} ${code}`;
}

describe.skipIf(await missingMachine())("durable records", { timeout: MACHINE_MS }, () => {
  let one: Rig;
  let other: Rig;
  const cache = otherCache();
  // One gateway has one store.
  const objects = new Objects();
  const start = (stateDir?: string): Promise<Rig> =>
    Rig.start({ objects, env: SOON, ...(stateDir !== undefined && { stateDir }) });

  beforeAll(async () => {
    [one, other] = await Promise.all([
      start(),
      Rig.start({ objects, env: { ...SOON, SVC_CACHE_DIR: cache } }),
    ]);
    await Promise.all([one.able(), other.able()]);
    await one.template();
  }, MACHINE_MS);
  afterAll(async () => {
    await Promise.all([one?.stop(), other?.stop()]);
    rmSync(cache, { recursive: true });
  });

  /** Of this record: those before it may have got there, too. */
  const durable = (rig: Rig, id: string, recordId: string | undefined) =>
    rig.gateway.report(id, (report) => report.durable === true && report.recordId === recordId);

  test("another host goes on from a paused machine, with its memory, disk and handles", async () => {
    await one.place("move", { envs: { COLOUR: "blue" } });
    await one.sh("move", `${COUNT} echo ram > /dev/shm/f`);
    // Not written out: it is in the page cache alone.
    await one.sh("move", "echo disk > /root/f; head -c 30000000 /dev/urandom > /dev/shm/big");
    const said = "cat /dev/shm/f /root/f; echo $COLOUR; hostname; sha256sum < /dev/shm/big";
    const before = await one.sh("move", said);
    const { recordId, durable: isDurable } = await pause(one, "move");
    expect(isDurable).toBe(false);
    expect(await durable(one, "move", recordId)).toMatchObject({ state: "paused" });
    expect(objects.keys("template/").length).toBeGreaterThan(0);
    await one.end("SIGKILL");
    await resumeFrom(other, "move", recordId);
    expect(await other.sh("move", said)).toBe(before);
    const count = Number(await other.sh("move", "cat /run/n"));
    await expect
      .poll(async () => Number(await other.sh("move", "cat /run/n")))
      .toBeGreaterThan(count);
    // It runs: what it went on from is no longer needed, anywhere.
    await objects.until(() => objects.keys(`${ORG}/${recordId}/`).length === 0);
    // The host that is back still has the record, which is nobody's now.
    const back = await start(one.stateDir);
    await one.gateway.stop();
    one = back;
    await one.able();
    await one.gateway.report("move", ({ state }) => state === "paused");
    await one.delete("move");
    const again = await pause(other, "move");
    expect(again.recordId).not.toBe(recordId);
    await durable(other, "move", again.recordId);
    await resumeFrom(one, "move", again.recordId);
    expect(await one.sh("move", said)).toBe(before);
    await one.delete("move");
    await other.delete("move");
  });

  test("a snapshot is forked and reverted to where it was not taken, and its removal removes it everywhere", async () => {
    await one.place("origin");
    await one.sh("origin", "echo kept > /dev/shm/f; echo kept > /root/f");
    expect((await snapshot(one, "origin", "snap_far")).durable).toBe(false);
    await one.gateway.beat(({ durableSnapshots = [] }) => durableSnapshots.includes("snap_far"));
    expect((await snapshot(one, "origin", "snap_far")).durable).toBe(true);
    expect((await fork(other, "far", "snap_far")).how).toBe("fork");
    expect(await other.sh("far", "cat /dev/shm/f /root/f")).toBe("kept\nkept");
    await other.sh("far", "echo later > /dev/shm/f");
    await bodyOf(await post(other, "far", "revert", { snapshotId: "snap_far" }), 200);
    expect(await other.sh("far", "cat /dev/shm/f")).toBe("kept");
    await one.call("DELETE", "/snapshots/snap_far", "snap_far");
    await objects.until(() => objects.keys(`${ORG}/snap_far/`).length === 0);
    await Promise.all([one.delete("origin"), other.delete("far")]);
    const source = { type: "snapshot", id: "snap_nowhere", recordPath: "" } as const;
    const refused = await other.put("none", { source });
    const { code } = VmRefused.parse(await refused.json());
    expect([refused.status, code]).toEqual([409, "UnknownSnapshot"]);
  });

  test("while the store is away all goes on here, and what was saved gets there when it is back", async () => {
    objects.isAway = true;
    await one.place("away");
    await one.sh("away", "echo here > /dev/shm/f");
    await pause(one, "away");
    await objects.until(() => objects.refused > 0);
    await resume(one, "away");
    expect(await one.sh("away", "cat /dev/shm/f")).toBe("here");
    const { recordId = "" } = await pause(one, "away");
    expect(await refusal(await post(other, "away", "resume", { recordId }))).toBe(
      "503 ResumeFailed",
    );
    objects.isAway = false;
    await durable(one, "away", recordId);
    expect(objects.keys(`${ORG}/${recordId}/`)).toContain(`${ORG}/${recordId}/manifest.json`);
    await one.delete("away");
    await objects.until(() => objects.keys(`${ORG}/${recordId}/`).length === 0);
  });

  test("what another platform saved is refused before anything but its manifest is read", async () => {
    await one.place("alien");
    const { recordId = "" } = await pause(one, "alien");
    await durable(one, "alien", recordId);
    const key = `${ORG}/${recordId}/manifest.json`;
    const manifest = String(objects.stored.get(key));
    objects.stored.set(key, Buffer.from(manifest.replace(/"qemu":"[^"]+"/, '"qemu":"1.0"')));
    objects.reads.length = 0;
    expect(await refusal(await post(other, "alien", "resume", { recordId }))).toBe(
      "409 SnapshotNotRestorable",
    );
    expect(objects.reads).toEqual([key]);
    await runs(other, 0);
    const nobody = await post(other, "alien", "resume", { recordId: "rec_none" });
    expect(await refusal(nobody)).toBe("409 NotPaused");
    await one.delete("alien");
  });

  test("a byte that changed on the way is no machine", async () => {
    await one.place("torn");
    const { recordId = "" } = await pause(one, "torn");
    await durable(one, "torn", recordId);
    const key = `${ORG}/${recordId}/pages.zst`;
    const pages = Buffer.from(objects.stored.get(key) ?? "");
    pages[pages.length >> 1] = 1 ^ (pages[pages.length >> 1] ?? 0);
    objects.stored.set(key, pages);
    expect(await refusal(await post(other, "torn", "resume", { recordId }))).toBe(
      "503 ResumeFailed",
    );
    await runs(other, 0);
    await resume(one, "torn");
    await one.delete("torn");
  });

  test("a checkpoint is what a killed host leaves, here and elsewhere", async () => {
    await one.place("check");
    const take = async () =>
      VmCheckpointed.parse(await bodyOf(await post(one, "check", "checkpoint"), 200));
    const ids: (string | undefined)[] = [];
    for (let round = 0; round < 3; round += 1) {
      await one.sh("check", `echo ${round} > /dev/shm/f; echo ${round} > /root/f`);
      ids.push((await take()).recordId);
      await one.sh("check", "echo lost > /dev/shm/f; echo lost > /root/f; sync");
    }
    const report = await durable(one, "check", ids[2]);
    expect(report.state).toBe("running");
    expect(report.checkpointAt).toBeLessThanOrEqual(Date.now());
    expect(report.sizeBytes).toBeGreaterThan(0);
    await objects.until(() =>
      ids.slice(0, 2).every((id) => objects.keys(`${ORG}/${id}/`).length === 0),
    );
    await one.end("SIGKILL");
    await resumeFrom(other, "check", ids[2]);
    expect(await other.sh("check", "cat /dev/shm/f /root/f")).toBe("2\n2");
    // There it is the checkpoint of what runs, from its first moment.
    const there = await other.gateway.report("check", (vm) => vm.recordId === ids[2]);
    expect(there).toMatchObject({ state: "running", durable: true });
    await other.delete("check");
    const back = await start(one.stateDir);
    await one.gateway.stop();
    one = back;
    await one.able();
    await one.gateway.report("check", (vm) => vm.state === "paused" && vm.recordId === ids[2]);
    await resume(one, "check");
    expect(await one.sh("check", "cat /dev/shm/f /root/f")).toBe("2\n2");
    // A revert is not undone by a crash.
    await one.sh("check", "echo old > /dev/shm/f");
    await snapshot(one, "check", "snap_check");
    await one.sh("check", "echo new > /dev/shm/f");
    await take();
    await bodyOf(await post(one, "check", "revert", { snapshotId: "snap_check" }), 200);
    await one.end("SIGKILL");
    await one.gateway.stop();
    one = await start(one.stateDir);
    await one.able();
    await resume(one, "check");
    expect(await one.sh("check", "cat /dev/shm/f")).toBe("old");
    await one.delete("check");
  });
});
