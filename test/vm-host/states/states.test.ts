import { randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { StateRefused } from "@svc/contract/host-protocol/vm-states.ts";
import type { VmReport } from "@svc/contract/host-protocol/vms.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  bodyOf,
  drafted,
  fork,
  pause,
  post,
  recordsOf,
  resume,
  runs,
  snapshot,
} from "../rig/acts.ts";
import { missingMachine } from "../rig/needs.ts";
import { Rig, pathOf } from "../rig/rig.ts";

const MACHINE_MS = 500_000;
const CYCLES = 10;
const MIB = 1024 * 1024;

describe.skipIf(await missingMachine())("states", { timeout: MACHINE_MS }, () => {
  let rig: Rig;

  beforeAll(async () => {
    rig = await Rig.start();
    await rig.able();
    await rig.template();
  }, MACHINE_MS);
  afterAll(() => rig?.stop());

  test("ten cycles of pause and resume lose nothing, and the record does not grow by them", async () => {
    const { how } = await rig.place("cycle", { envs: { COLOUR: "blue" } });
    expect(how).toBe("clone");
    // A process with a value in memory, and a page cache that nobody has written out.
    const counter =
      "import time\nn = 0\nwhile True:\n n += 1\n open('/run/n', 'w').write(str(n))\n time.sleep(0.05)";
    await rig.sh("cycle", `setsid python3 -c "${counter}" >/dev/null 2>&1 & echo $! > /run/pid`);
    const hostname = await rig.sh("cycle", "hostname");
    const sizes: number[] = [];
    for (let round = 0; round < CYCLES; round += 1) {
      const text = randomBytes(40).toString("hex");
      await rig.sh("cycle", `echo ${text} > /root/f${round}; echo ${text} > /dev/shm/f${round}`);
      sizes.push((await pause(rig, "cycle")).sizeBytes);
      await runs(rig, 0);
      expect((await rig.call("GET", `${pathOf("cycle")}/metrics`, "cycle")).status).toBe(404);
      await resume(rig, "cycle");
      const found = await rig.sh("cycle", `cat /root/f${round} /dev/shm/f${round}`);
      expect(found).toBe(`${text}\n${text}`);
    }
    expect(await rig.sh("cycle", "ls /root/f* /dev/shm/f* | wc -l")).toBe(String(2 * CYCLES));
    expect(await rig.sh("cycle", "kill -0 $(cat /run/pid) && echo $COLOUR; hostname")).toBe(
      `blue\n${hostname}`,
    );
    const before = Number(await rig.sh("cycle", "cat /run/n"));
    await expect
      .poll(async () => Number(await rig.sh("cycle", "cat /run/n")))
      .toBeGreaterThan(before);
    // Each cycle dirties some pages of the agent's; a chain of ten deltas would be ten times the first.
    expect(sizes.at(-1)).toBeLessThan(2 * (sizes[0] ?? 0) + 16 * MIB);
    await rig.delete("cycle");
  });

  test("the guest's clock is right after a pause however long", async () => {
    await rig.place("clock");
    await rig.sh("clock", "date -s '2020-01-01 00:00:00' >/dev/null");
    await pause(rig, "clock");
    await resume(rig, "clock");
    const before = Date.now();
    const { stdout } = await rig.exec("clock", "date", ["+%s%3N"]);
    expect(Number(stdout)).toBeGreaterThan(before - 5_000);
    expect(Number(stdout)).toBeLessThan(Date.now() + 5_000);
    await rig.delete("clock");
  });

  test("a machine that went on may reset its devices: its driver leaves the network and comes back", async () => {
    await rig.place("driver");
    await pause(rig, "driver");
    await resume(rig, "driver");
    const anew =
      "cd /sys/bus/virtio/drivers/virtio_net; for device in virtio*; do echo $device > unbind; echo $device > bind; done; ls /sys/class/net";
    expect(await rig.sh("driver", anew)).toBe("eth0\nlo");
    await rig.delete("driver");
  });

  test("names that were changed inside stay when it goes on; a fork has its own", async () => {
    await rig.place("named");
    await rig.sh("named", "hostname mine; echo 10.1.2.3 mine >> /etc/hosts");
    await snapshot(rig, "named", "snap_named");
    await pause(rig, "named");
    await resume(rig, "named");
    expect(await rig.sh("named", "hostname; tail -n 1 /etc/hosts")).toBe("mine\n10.1.2.3 mine");
    await fork(rig, "other", "snap_named");
    const hostname = await rig.sh("other", "hostname");
    expect(hostname).toMatch(/^sandbox-/);
    expect(await rig.sh("other", "head -n 1 /etc/hosts")).toBe(`127.0.0.1 localhost ${hostname}`);
    await Promise.all(["named", "other"].map((id) => rig.delete(id)));
  });

  test("twenty pauses at once are one, and a resume waits for the one under way", async () => {
    await rig.place("many");
    const answers = Promise.all(Array.from({ length: 20 }, () => pause(rig, "many")));
    const [first, ...rest] = await answers;
    // A pause that came when the others were over has the same record, but a time of its own.
    const { state, recordId, sizeBytes } = first ?? {};
    for (const one of rest) expect(one).toMatchObject({ state, recordId, sizeBytes });
    await rig.gateway.report("many", ({ state }) => state === "paused");
    expect(await pause(rig, "many")).toMatchObject({ recordId, sizeBytes });
    await resume(rig, "many");
    const begun = drafted(rig.stateDir);
    const again = pause(rig, "many");
    await begun;
    expect((await resume(rig, "many")).state).toBe("running");
    expect((await again).state).toBe("paused");
    expect(await rig.sh("many", "echo here")).toBe("here");
    const refused = await post(rig, "many", "resume");
    expect([refused.status, StateRefused.parse(await refused.json()).code]).toEqual([
      409,
      "NotPaused",
    ]);
    await rig.delete("many");
  });

  test.each(["pause", "resume", "park"])("%s of nobody is 404", async (act) => {
    expect((await post(rig, "nobody", act)).status).toBe(404);
  });

  test("a live snapshot stops nothing; forks of it are others, and the parent goes on", async () => {
    await rig.place("parent", { envs: { COLOUR: "blue" } });
    await rig.sh("parent", "echo kept > /root/f; echo shared > /dev/shm/f");
    const taken = await snapshot(rig, "parent", "snap_live");
    expect(taken).toMatchObject({ cpu: 2, memMb: 512, diskGb: 4, platform: { driver: "qemu" } });
    await rig.sh("parent", "echo later > /root/f");
    const ids = ["fork1", "fork2", "fork3", "fork4"];
    const placed = await Promise.all(ids.map((id) => fork(rig, id, "snap_live")));
    expect(placed.map(({ how }) => how)).toEqual(["fork", "fork", "fork", "fork"]);
    const line = [
      "hostname; cat /etc/machine-id; head -c 16 /dev/urandom | od -An -tx1",
      "python3 -c 'import random; print(random.random())'",
    ].join("; ");
    const said = await Promise.all(["parent", ...ids].map((id) => rig.sh(id, line)));
    const words = said.flatMap((text) => text.split("\n"));
    expect(words).toHaveLength(20);
    expect(new Set(words).size).toBe(20);
    for (const id of ids)
      expect(await rig.sh(id, "cat /root/f /dev/shm/f; echo $COLOUR")).toBe("kept\nshared\nblue");
    expect(await rig.sh("parent", "cat /root/f")).toBe("later");
    await Promise.all(["parent", ...ids].map((id) => rig.delete(id)));
  });

  test("a fork that was forked often goes on when its snapshot is gone, paused or not", async () => {
    await rig.place("root");
    await rig.sh("root", "echo kept > /root/f");
    await snapshot(rig, "root", "snap_deep");
    for (const id of ["deep1", "deep2", "deep3"]) await fork(rig, id, "snap_deep");
    await pause(rig, "deep3");
    const gone = await rig.call("DELETE", "/snapshots/snap_deep", "snap_deep");
    expect(gone.status).toBe(204);
    await resume(rig, "deep3");
    for (const id of ["deep1", "deep2", "deep3"]) {
      expect(await rig.sh(id, "cat /root/f; echo x > /root/g; sync; cat /root/g")).toBe("kept\nx");
      await rig.delete(id);
    }
    const late = await rig.put("late", {
      source: { type: "snapshot", id: "snap_deep", recordPath: "" },
    });
    expect([late.status, await late.json()]).toMatchObject([409, { code: "UnknownSnapshot" }]);
    await rig.delete("root");
  });

  test("revert makes a machine what it was, running or paused, and its handles void", async () => {
    await rig.place("back");
    await rig.sh("back", "echo good > /root/f; echo good > /dev/shm/f");
    const hostname = await rig.sh("back", "hostname");
    await snapshot(rig, "back", "snap_back");
    for (const isPaused of [false, true]) {
      await rig.sh("back", "echo bad > /root/f; echo bad > /dev/shm/f; sync");
      if (isPaused) await pause(rig, "back");
      await bodyOf(await post(rig, "back", "revert", { snapshotId: "snap_back" }), 200);
      expect(await rig.sh("back", "cat /root/f /dev/shm/f; hostname")).toBe(
        `good\ngood\n${hostname}`,
      );
    }
    await runs(rig, 1);
    const unknown = await post(rig, "back", "revert", { snapshotId: "snap_nowhere" });
    expect(unknown.status).toBe(404);
    await rig.delete("back");
  });

  test("a snapshot of a paused machine is one of what it was", async () => {
    await rig.place("quiet");
    await rig.sh("quiet", "echo asleep > /dev/shm/f");
    await pause(rig, "quiet");
    expect((await snapshot(rig, "quiet", "snap_quiet")).stoppedMs).toBe(0);
    await resume(rig, "quiet");
    await rig.sh("quiet", "echo awake > /dev/shm/f");
    await fork(rig, "copy", "snap_quiet");
    expect(await rig.sh("copy", "cat /dev/shm/f")).toBe("asleep");
    await Promise.all(["copy", "quiet"].map((id) => rig.delete(id)));
  });

  test("hardened stays hardened, and a hardened fork of an open machine is it from its first moment", async () => {
    const carrier = (id: string) => rig.sh(id, "cat /sys/class/net/eth0/carrier");
    await rig.place("hard", { isolation: "hardened" });
    await pause(rig, "hard");
    expect((await resume(rig, "hard")).isolation).toBe("hardened");
    await rig.place("open");
    await snapshot(rig, "open", "snap_open");
    const source = { type: "snapshot", id: "snap_open", recordPath: "" } as const;
    await rig.place("shut", { source, isolation: "hardened" });
    expect([await carrier("hard"), await carrier("shut")]).toEqual(["0", "0"]);
    await Promise.all(["hard", "open", "shut"].map((id) => rig.delete(id)));
  });

  test("many snapshots of one machine do not make its disk slower for ever", async () => {
    await rig.place("chain");
    for (let round = 0; round < 11; round += 1) {
      await rig.sh("chain", `echo ${round} > /root/f${round}; sync`);
      await snapshot(rig, "chain", `snap_chain${round}`);
    }
    await fork(rig, "middle", "snap_chain4");
    expect(await rig.sh("middle", "ls /root/f* | wc -l; cat /root/f4")).toBe("5\n4");
    for (let round = 0; round < 11; round += 1)
      await rig.call("DELETE", `/snapshots/snap_chain${round}`, `snap_chain${round}`);
    await pause(rig, "chain");
    await resume(rig, "chain");
    expect(await rig.sh("chain", "ls /root/f* | wc -l; cat /root/f10")).toBe("11\n10");
    expect(await rig.sh("middle", "cat /root/f4")).toBe("4");
    await Promise.all(["chain", "middle"].map((id) => rig.delete(id)));
  });

  test("a parked machine takes no processor, and the next request wakes it with the right time", async () => {
    await rig.place("park");
    expect((await post(rig, "park", "park")).status).toBe(200);
    const metrics = await rig.call("GET", `${pathOf("park")}/metrics`, "park");
    expect(await metrics.json()).toMatchObject({ cpuPct: 0 });
    await rig.gateway.report("park", ({ state }) => state === "running");
    const before = Date.now();
    const { stdout } = await rig.exec("park", "date", ["+%s%3N"]);
    expect(Number(stdout)).toBeGreaterThan(before - 5_000);
    expect((await post(rig, "park", "park")).status).toBe(200);
    await pause(rig, "park");
    await resume(rig, "park");
    expect(await rig.sh("park", "echo awake")).toBe("awake");
    await rig.delete("park");
  });

  test("DELETE works in every state and leaves nothing", async () => {
    const isKnown = ({ vms }: { vms: VmReport[] }): boolean => vms.some(({ id }) => id === "gone");
    for (const act of ["pause", "resume", "park", "snapshot"]) {
      await rig.place("gone");
      if (act === "resume") await pause(rig, "gone");
      const acting = post(rig, "gone", act, { snapshotId: "snap_gone" });
      const ended = await rig.delete("gone");
      await acting;
      expect(ended.status).toBe(204);
      await rig.gateway.beat((beat) => !isKnown(beat));
      expect(await post(rig, "gone", "resume").then(({ status }) => status)).toBe(404);
      await rig.call("DELETE", "/snapshots/snap_gone", "snap_gone");
    }
    await runs(rig, 0);
  });

  test("what it has left in its folder of records is whole", async () => {
    const names = () => readdirSync(recordsOf(rig.stateDir), { recursive: true }).map(String);
    expect(names()).toContain("owner.json");
    await expect.poll(() => names().filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });
});
