import { spawn } from "node:child_process";
import {
  access,
  chmod,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  readlink,
  rm,
  rmdir,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { missingBrowser } from "../support/process/needs.ts";
import { RawCdp, byWire } from "./clients.ts";
import { type ProcessInfo, below, processes } from "./processes.ts";
import { Rig } from "./rig.ts";

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

describe.skipIf(await missingBrowser())("the life of a pool", () => {
  let stateDir: string;
  /** Away from every other pool of this machine: each removes what it finds of dead ones. */
  let env: { TMPDIR: string };

  beforeEach(async () => {
    stateDir = await mkdtemp(join(tmpdir(), "lifetime-"));
    env = { TMPDIR: await mkdtemp(join(tmpdir(), "life-")) };
    await chmod(env.TMPDIR, 0o711);
    return async () => {
      for (const path of [stateDir, env.TMPDIR]) await rm(path, { recursive: true, force: true });
    };
  });

  /** A pool with a warm browser, a session and clients on it; and what it has on the machine. */
  async function busyPool() {
    const rig = await Rig.start({ stateDir, env });
    await rig.place("s");
    await rig.warm();
    await Promise.all([byWire(rig, "s"), RawCdp.open(rig, "s")]);
    const pids = below(rig.child.pid ?? 0);
    const [folder] = new Set(
      below(rig.child.pid ?? 0).flatMap(({ command }) => /\S*\/svc-pool-\w{6}/.exec(command) ?? []),
    );
    if (!folder || pids.length < 10) throw new Error("no browsers");
    return { rig, pids, folder };
  }

  const alive = (known: ProcessInfo[]): ProcessInfo[] => {
    const now = new Set(processes().map(({ pid, began }) => `${pid} ${began}`));
    return known.filter(({ pid, began }) => now.has(`${pid} ${began}`));
  };

  test.each(["SIGTERM", "SIGINT"] as const)(
    "%s ends every process and folder, with exit 0",
    async (signal) => {
      const { rig, pids, folder } = await busyPool();
      expect(await rig.end(signal)).toBe(0);
      expect(alive(pids)).toEqual([]);
      expect(await exists(folder)).toBe(false);
      // Its last heartbeat: what it held is gone, and it takes nothing any more.
      const last = await rig.gateway.beat((beat) => beat.draining === true);
      expect(last.slots).toEqual([]);
      await rig.gateway.stop();
    },
  );

  test("a pool whose supervisor goes away ends by itself", async () => {
    const { rig, pids, folder } = await busyPool();
    const ended = new Promise((resolve) => rig.child.once("exit", resolve));
    rig.child.disconnect();
    expect(await ended).toBe(0);
    expect(alive(pids)).toEqual([]);
    expect(await exists(folder)).toBe(false);
    await rig.gateway.stop();
  });

  test("a killed pool leaves no process, and the next start leaves no folder of it", async () => {
    const { rig, pids, folder } = await busyPool();
    const { bootId } = await rig.gateway.beat(() => true);
    await rig.end("SIGKILL");
    await expect.poll(() => alive(pids)).toEqual([]);
    expect(await exists(folder)).toBe(true);
    const next = await Rig.start({ stateDir, env });
    expect(await exists(folder)).toBe(false);
    expect((await next.gateway.beat(() => true)).bootId).not.toBe(bootId);
    await next.warm();
    await Promise.all([next.stop(), rig.gateway.stop()]);
  });

  test("what a killed pool has left is removed also when its state folder is gone", async () => {
    const { rig, folder } = await busyPool();
    await rig.end("SIGKILL");
    await rig.stop();
    const next = await Rig.start({ env });
    expect(await exists(folder)).toBe(false);
    await next.stop();
  });

  test("a second pool on the same state folder leaves the first one alone", async () => {
    const first = await Rig.start({ stateDir });
    await first.warm();
    const second = await Rig.start({ stateDir });
    await second.warm();
    await first.place("s");
    const client = await RawCdp.open(first, "s");
    expect((await client.call("Browser.getVersion")).result).toBeDefined();
    await Promise.all([first.stop(), second.stop()]);
  });

  test.skipIf(process.getuid?.() !== 0)(
    "what a killed pool has left in cgroups of another parent is removed",
    async () => {
      const isV2 = await exists("/sys/fs/cgroup/cgroup.controllers");
      const root = isV2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
      const parent = await mkdtemp(join(root, "svc-test-"));
      const folder = await mkdtemp(join(env.TMPDIR, "svc-pool-"));
      const group = join(parent, basename(folder));
      await mkdir(join(group, "7"), { recursive: true });
      const inside = spawn("sleep", ["600"], { stdio: "ignore" });
      const ended = new Promise((resolve) => inside.once("exit", resolve));
      await writeFile(join(group, "7/cgroup.procs"), String(inside.pid));
      const pidNamespace = await readlink("/proc/self/ns/pid");
      const owner = { pid: 1, startedAt: "0", pidNamespace, state: "0:0", cgroups: [group] };
      await writeFile(join(folder, "owner.json"), JSON.stringify(owner));
      const rig = await Rig.start({ env });
      await ended;
      await expect.poll(() => exists(group)).toBe(false);
      await expect.poll(() => exists(folder)).toBe(false);
      await rmdir(parent);
      await rig.stop();
    },
  );

  test("a drain lasts as long as the pool's process", async () => {
    const rig = await Rig.start({ stateDir, env });
    await rig.warm();
    expect((await rig.call("POST", "/drain", "drain")).status).toBe(202);
    await rig.gateway.beat(({ draining }) => draining === true);
    expect((await rig.put("s")).status).toBe(503);
    await rig.end("SIGKILL");
    const next = await Rig.start({ stateDir, env });
    expect((await next.gateway.beat(() => true)).draining).toBeUndefined();
    await next.place("s");
    await Promise.all([next.stop(), rig.gateway.stop()]);
  });

  test("sessions leave nothing in the pool: no file, no descriptor, no cgroup", async () => {
    const rig = await Rig.start({ stateDir });
    const { pid = 0 } = rig.child;
    const state = async () => {
      await rig.gateway.beat(
        ({ kinds }) => kinds.fast?.idle === 1 && kinds.fast.busy + kinds.fast.recycling === 0,
        rig.gateway.beats.length,
      );
      const [slot = ""] = below(pid).flatMap(
        ({ command }) => /\S*\/svc-pool-\w{6}/.exec(command) ?? [],
      );
      const cgroup = (await readFile(`/proc/${below(pid)[0]?.pid}/cgroup`, "utf8")).match(
        /memory:(.*svc-pool[^/]*)/,
      )?.[1];
      return {
        slots: (await readdir(slot)).length,
        shared: (await readdir(join(slot, "wire"), { recursive: true })).length,
        descriptors: (await readdir(`/proc/${pid}/fd`)).length,
        cgroups: cgroup
          ? (await readdir(`/sys/fs/cgroup/memory${cgroup}`, { withFileTypes: true })).filter(
              (entry) => entry.isDirectory(),
            ).length
          : 0,
      };
    };
    const use = async (id: string): Promise<void> => {
      await rig.place(id);
      const wire = await byWire(rig, id);
      const cdp = await RawCdp.open(rig, id);
      await cdp.attach();
      await wire.close();
      cdp.socket.close();
      await cdp.closed;
      await rig.delete(id);
    };
    await use("first");
    // The process of the org ends a while after its session. What stays: the folders of files and ways out, each with that
    // of the next browser, and the home of the warm process with two sockets.
    const isAtRest = async () => (await state()).shared === 7;
    await expect.poll(isAtRest).toBe(true);
    const before = await state();
    for (let count = 0; count < 8; count += 1) await use(`s${count}`);
    // Connections that are kept alive come and go by a few.
    const most = { ...before, descriptors: before.descriptors + 3 };
    const more = async () =>
      Object.entries(await state()).filter(([what, n]) => n > most[what as keyof typeof most]);
    // What is left goes a moment after it was asked for.
    await expect.poll(more).toEqual([]);
    await rig.stop();
  }, 300_000);

  test("sessions of a gateway that stays silent are orphaned", async () => {
    // Longer than a pool that has no news, or a busy machine, lets its gateway wait.
    const rig = await Rig.start({ stateDir, limits: { orphanGraceMs: 12_000 } });
    rig.gateway.pollMs = 500;
    await rig.place("s");
    const client = await RawCdp.open(rig, "s");
    rig.gateway.status = 503;
    expect(await client.closed).toMatchObject({
      code: 4404,
      reason: expect.stringContaining("gateway"),
    });
    rig.gateway.status = 200;
    expect(await rig.gateway.report("s", (report) => report.ended !== undefined)).toMatchObject({
      ended: "orphaned",
    });
    await rig.stop();
  });
});

describe("a machine that cannot serve", () => {
  const rigs: Rig[] = [];
  afterEach(async () => void (await Promise.all(rigs.splice(0).map((rig) => rig.stop()))));

  test("a missing browser turns the kind off with the fix, and nothing else", async () => {
    const nowhere = "/nonexistent/chromium";
    const env = { SVC_CHROMIUM: nowhere, SVC_CHROMIUM_STEALTH: nowhere };
    const rig = await Rig.start({ env });
    rigs.push(rig);
    const hint = expect.stringContaining("SVC_CHROMIUM");
    expect(rig.ready.table[0]).toMatchObject({ what: "browsers (fast)", on: false, note: hint });
    const beat = await rig.gateway.beat(() => true);
    expect(beat).toMatchObject({ isolation: "none", memoryCap: false });
    expect(beat.kinds.fast).toEqual({ idle: 0, busy: 0, recycling: 0, hint });
    const stealth = { idle: 0, busy: 0, recycling: 0, hint: expect.stringContaining("STEALTH") };
    expect(beat.kinds.stealth).toEqual(stealth);
    const refused = await rig.put("s");
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ hint });
  });

  test("a browser that never starts is told with its last words, and tried again", async () => {
    const rig = await Rig.start({
      env: { SVC_CHROMIUM: fileURLToPath(new URL("broken-browser.sh", import.meta.url)) },
    });
    rigs.push(rig);
    const beat = await rig.gateway.beat(({ kinds }) => kinds.fast?.hint !== undefined);
    expect(beat.kinds.fast?.hint).toContain("libmissing.so");
    expect((await rig.put("s")).status).toBe(503);
  });

  test("a browser that is killed while it starts is told as that", async () => {
    const rig = await Rig.start({
      env: { SVC_CHROMIUM: fileURLToPath(new URL("killed-browser.sh", import.meta.url)) },
    });
    rigs.push(rig);
    const beat = await rig.gateway.beat(({ kinds }) => kinds.fast?.hint !== undefined);
    expect(beat.kinds.fast?.hint).toBe(
      "Chromium does not start: it was killed (SIGKILL) while it started",
    );
  });
});
