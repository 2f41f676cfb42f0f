import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { killIfThere } from "../../support/process/process-tree.ts";
import { cacheDirOf } from "../../../vm-host/config.ts";
import { pidsOf, qemusOf } from "../rig/acts.ts";
import { missingMachine } from "../rig/needs.ts";
import { Rig, pathOf } from "../rig/rig.ts";

const MACHINE_MS = 400_000;
const PATIENCE_MS = 200_000;
/** More than everybody else says to a host meanwhile. */
const NOISE_BYTES = 16 * 1024 * 1024;
const isRoot = process.getuid?.() === 0;

/** How much a host has read, from its machines among others. */
function bytesReadBy({ child }: Rig): number {
  const [, read = ""] = /^rchar: (\d+)/.exec(readFileSync(`/proc/${child.pid}/io`, "utf8")) ?? [];
  return Number(read);
}

/** Folders of the cgroups of ours that a process is in. */
function groupsOf(pid: number): string[] {
  const lines = readFileSync(`/proc/${pid}/cgroup`, "utf8").split("\n");
  const own = lines
    .map((line) => line.split(":"))
    .filter(([, , path]) => path?.includes("svc_vm_"));
  return own.map(([, kind = "", path = ""]) => join("/sys/fs/cgroup", kind, path));
}

/** Disks of machines below a cache folder. */
const disksIn = (cache: string): string[] =>
  readdirSync(cache, { recursive: true, encoding: "utf8" }).filter(
    (name) => !/^(images|layers|templates)/.test(name) && name.endsWith(".qcow2"),
  );

async function kill(rig: Rig): Promise<void> {
  const pids = qemusOf(rig).map(({ pid }) => pid);
  await rig.end("SIGKILL");
  await rig.gateway.stop();
  const alive = () => pids.filter((pid) => existsSync(`/proc/${pid}/exe`));
  await expect.poll(alive).toEqual([]);
}

/** What runs have left in a folder for temporary files that no other test's host has. */
const runsIn = (place: string): string[] =>
  readdirSync(place).filter((name) => name.startsWith("svcvm-"));
const tables = (): string =>
  spawnSync("nft", ["list", "tables"], { encoding: "utf8" }).stdout ?? "";

test("without an image a create answers at once, and says what to do", async () => {
  const cache = mkdtempSync(join(tmpdir(), "cache-"));
  const rig = await Rig.start({ env: { SVC_CACHE_DIR: cache } });
  const startedAt = Date.now();
  const response = await rig.put("early");
  // Nobody makes that image here: to wait for it would have no end.
  expect(Date.now() - startedAt).toBeLessThan(60_000);
  expect(response.status).toBe(503);
  const refused = { code: "NoCapacity", hint: expect.stringMatching(/image|qemu/i) };
  expect(await response.json()).toMatchObject(refused);
  await rig.stop();
  rmSync(cache, { recursive: true });
});

describe.skipIf(await missingMachine())("faults", { timeout: MACHINE_MS }, () => {
  let rig: Rig;

  beforeAll(async () => {
    rig = await Rig.start({ env: { SVC_WARM_VM: "1" } });
    await rig.able();
    await rig.place("keeper");
    await rig.template();
  }, 2 * MACHINE_MS);
  afterAll(() => rig?.stop());

  /** Waits until the warm one is there again, as a heartbeat says that is still to come. */
  const warm = () => rig.gateway.beat((beat) => beat.warm === 1, rig.gateway.beats.length);

  /** Places a machine while all is quiet, and answers its process: only then is the new one its own. */
  async function pidOf(id: string): Promise<number> {
    await warm();
    const before = new Set(pidsOf(rig));
    // Of another size than the warm one, so that this is not taken and replaced.
    await rig.place(id);
    const [pid, ...others] = pidsOf(rig).filter((one) => !before.has(one));
    expect(others).toEqual([]);
    if (pid === undefined) throw new Error("no process");
    return pid;
  }

  test("two creates that race for the last warm clone get two machines", async () => {
    await warm();
    const [left, right] = await Promise.all([
      rig.place("left", { memMb: 2048 }),
      rig.place("right", { memMb: 2048 }),
    ]);
    expect([left.how, right.how].toSorted()).toEqual(["clone", "warm"]);
    const names = await Promise.all([rig.sh("left", "hostname"), rig.sh("right", "hostname")]);
    expect(names[0]).not.toBe(names[1]);
    await Promise.all([rig.delete("left"), rig.delete("right")]);
  });

  test.skipIf(!isRoot)("a machine's process is capped, and its group ends with it", async () => {
    const pid = await pidOf("capped");
    const groups = groupsOf(pid);
    const uncapped = rig.gateway.last?.weaknesses.some((text) => text.includes("cgroups"));
    expect(groups.length > 0).toBe(!uncapped);
    await rig.delete("capped");
    await expect.poll(() => groups.filter((folder) => existsSync(folder))).toEqual([]);
  });

  test("a machine that dies is reported until the gateway has taken that, and its room is free again", async () => {
    onTestFinished(() => void (rig.gateway.again = []));
    rig.gateway.again = ["mortal"];
    killIfThere(await pidOf("mortal"));
    await rig.gateway.report("mortal", ({ ended }) => ended === "machine_died");
    const from = rig.gateway.beats.length;
    await rig.gateway.report("mortal", ({ ended }) => ended === "machine_died", from);
    rig.gateway.again = [];
    expect((await rig.call("GET", `${pathOf("mortal")}/metrics`, "mortal")).status).toBe(404);
    await rig.gateway.beat(({ vms }) => !vms.some(({ id }) => id === "mortal"));
  });

  test("a guest that powers off is gone", async () => {
    await rig.place("off");
    await rig
      .exec("off", "/opt/svc/init", ["poweroff", "-f"], { timeoutMs: 5_000 })
      .catch(() => null);
    const off = ["-c", "echo o > /proc/sysrq-trigger"];
    await rig.exec("off", "sh", off, { timeoutMs: 5_000 }).catch(() => null);
    const { ended } = await rig.gateway.report("off", (report) => report.ended !== undefined);
    expect(ended).toBe("machine_died");
  });

  test("an agent that is killed comes back and answers", async () => {
    await rig.place("agent");
    await rig.exec("agent", "pkill", ["-9", "-f", "agent.mjs"]).catch(() => null);
    await expect
      .poll(() => rig.sh("agent", "echo back").catch(() => ""), { timeout: PATIENCE_MS })
      .toBe("back");
    await rig.delete("agent");
  });

  test("a guest that floods its ports with noise harms nobody else", async () => {
    await rig.place("noise");
    const before = bytesReadBy(rig);
    const flood = [
      "printf '#!/bin/sh\\nfor p in /dev/vport*; do cat /dev/urandom > $p & done; wait\\n' > /opt/svc/agent",
      "pkill -9 -f agent.mjs",
    ].join("; ");
    // Its agent is gone: nobody says that it has ended.
    void rig.exec("noise", "sh", ["-c", flood]).catch(() => null);
    const heard = () => bytesReadBy(rig) - before;
    await expect.poll(heard, { timeout: PATIENCE_MS }).toBeGreaterThan(NOISE_BYTES);
    for (let round = 0; round < 5; round += 1)
      expect(await rig.sh("keeper", "echo fine")).toBe("fine");
    expect((await rig.delete("noise")).status).toBe(204);
  });

  test("after a fork bomb the next command works", async () => {
    await rig.place("bomb");
    await rig.exec("bomb", "bash", ["-c", ":(){ :|:& };:"], { timeoutMs: 4_000 }).catch(() => null);
    await expect
      .poll(() => rig.sh("bomb", "echo alive").catch(() => ""), { timeout: PATIENCE_MS })
      .toBe("alive");
    await rig.delete("bomb");
  });

  test("a program that takes all memory is ended, and the next command works", async () => {
    const code = "b = bytearray(4 << 30)\nfor i in range(0, len(b), 4096): b[i] = 1";
    const result = await rig.exec("keeper", "python3", ["-c", code], { timeoutMs: PATIENCE_MS });
    expect(result.exitCode).not.toBe(0);
    expect(await rig.sh("keeper", "echo alive")).toBe("alive");
  });

  test("what does not fit is 507, and the same request works once there is room", async () => {
    const small = await Rig.start({ env: { SVC_VM_MEMORY_MB: "600" } });
    await small.able();
    expect((await small.put("large", { memMb: 1024 })).status).toBe(507);
    await small.place("fits");
    const full = await small.put("second");
    expect([full.status, (await full.json()) as object]).toMatchObject([
      507,
      { code: "InsufficientCapacity" },
    ]);
    await small.delete("fits");
    await small.place("second");
    await small.stop();
  });

  test.skipIf(!isRoot)("a full disk of the host is an error in the guest, no more", async () => {
    const folder = mkdtempSync(join(tmpdir(), "full-"));
    const cache = cacheDirOf(process.env);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=96m", "tmpfs", folder]);
    for (const part of ["images", "templates", "layers", "accelerator.json"])
      symlinkSync(join(cache, part), join(folder, part));
    chmodSync(folder, 0o755);
    const tight = await Rig.start({ env: { SVC_CACHE_DIR: folder } });
    try {
      await tight.able();
      await tight.place("writer");
      const { exitCode } = await tight.exec(
        "writer",
        "dd",
        ["if=/dev/urandom", "of=/root/x", "bs=1M", "count=160", "conv=fsync"],
        { timeoutMs: PATIENCE_MS },
      );
      expect(exitCode).not.toBe(0);
      expect((await tight.delete("writer")).status).toBe(204);
      await tight.place("next");
      expect(await tight.sh("next", "echo fine")).toBe("fine");
    } finally {
      await tight.stop();
      execFileSync("umount", ["--lazy", folder]);
      rmSync(folder, { recursive: true });
    }
  });

  test("a host that is killed takes its machines with it, and the next start leaves nothing", async () => {
    const stateDir = mkdtempSync(join(tmpdir(), "vmstate-"));
    const place = mkdtempSync(join(tmpdir(), "vm-"));
    chmodSync(place, 0o711);
    const env = { TMPDIR: place };
    const first = await Rig.start({ stateDir, env });
    await first.able();
    await first.place("orphan");
    const pids = pidsOf(first);
    const left = runsIn(place);
    expect([pids.length > 0, left.length]).toEqual([true, 1]);
    const groups = pids.flatMap(groupsOf);
    await first.end("SIGKILL");
    await first.gateway.stop();
    const alive = () => pids.filter((pid) => existsSync(`/proc/${pid}/exe`));
    await expect.poll(alive).toEqual([]);
    const second = await Rig.start({ stateDir, env });
    const table = `svc_vm_${(left[0] ?? "").slice("svcvm-".length)}`;
    await expect.poll(() => runsIn(place)).not.toContain(left[0]);
    await expect.poll(tables).not.toContain(table);
    await expect.poll(() => groups.filter((folder) => existsSync(folder))).toEqual([]);
    expect(second.gateway.last?.vms ?? []).toEqual([]);
    await second.stop();
    expect(runsIn(place)).toEqual([]);
    rmSync(place, { recursive: true });
  });

  test("a host that is killed while it boots a machine or freezes one leaves nothing after its next start", async () => {
    const cache = mkdtempSync(join(tmpdir(), "killed-"));
    const stateDir = mkdtempSync(join(tmpdir(), "vmstate-"));
    chmodSync(cache, 0o711);
    for (const part of ["images", "layers", "accelerator.json"])
      symlinkSync(join(cacheDirOf(process.env), part), join(cache, part));
    const templates = join(cache, "templates");
    const drafts = () => readdirSync(templates).filter((name) => name.endsWith(".tmp"));
    const env = { SVC_CACHE_DIR: cache, TMPDIR: cache };
    const booting = await Rig.start({ stateDir, env });
    await booting.able();
    void booting.put("booting").catch(() => null);
    await expect.poll(() => pidsOf(booting).length).toBeGreaterThan(0);
    await kill(booting);
    const freezing = await Rig.start({ stateDir, env });
    await freezing.able();
    await expect.poll(() => [runsIn(cache).length, disksIn(cache)]).toEqual([1, []]);
    await freezing.place("first");
    await expect.poll(drafts, { timeout: PATIENCE_MS }).toHaveLength(1);
    await kill(freezing);
    expect(drafts()).toHaveLength(1);
    const last = await Rig.start({ stateDir, env });
    await last.able();
    const left = () => [drafts(), disksIn(cache), runsIn(cache).length];
    await expect.poll(left).toEqual([[], [], 1]);
    await last.stop();
    expect(runsIn(cache)).toEqual([]);
    rmSync(cache, { recursive: true });
  });
});
