import { execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { type Server, type Socket, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { StateRefused } from "@svc/contract/host-protocol/vm-states.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cacheDirOf } from "../../../vm-host/config.ts";
import { MachineRecord } from "../../../vm-host/records/record.ts";
import { fork, pause, post, recordsOf, resume, runs, snapshot } from "../rig/acts.ts";
import { missingMachine } from "../rig/needs.ts";
import { STOP_MS } from "../../support/process/host-rig.ts";
import { Rig } from "../rig/rig.ts";

const MACHINE_MS = 500_000;
const isRoot = process.getuid?.() === 0;

/** Records and layers that are there, by name. */
function contents(folder: string) {
  const others = ["owner.json", "layers", "packing", "leftovers"];
  const names = readdirSync(folder).filter((name) => !others.includes(name));
  return { records: names, layers: readdirSync(join(folder, "layers")) };
}

/** What the record in a folder is; undefined of what is none. */
function kindOf(stateDir: string, name: string): string | undefined {
  const text = readFileSync(join(recordsOf(stateDir), name, "record.json"), "utf8");
  return MachineRecord.safeParse(JSON.parse(text)).data?.kind;
}

const listenAt = (server: Server): Promise<number> =>
  new Promise((resolve) =>
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      resolve(typeof address === "object" && address ? address.port : 0);
    }),
  );

async function resumed(rig: Rig): Promise<string> {
  await resume(rig, "v");
  const said = await rig.sh("v", "cat /dev/shm/f");
  await rig.delete("v");
  return said;
}

async function forkOf(rig: Rig): Promise<string> {
  await fork(rig, "f", "s");
  const said = await rig.sh("f", "cat /dev/shm/f");
  await rig.delete("f");
  return said;
}

describe.skipIf(await missingMachine())("states under faults", { timeout: MACHINE_MS }, () => {
  const stateDirs: string[] = [];
  const newState = (): string => {
    const folder = mkdtempSync(join(tmpdir(), "vmstate-"));
    stateDirs.push(folder);
    return folder;
  };
  afterAll(() => {
    for (const folder of stateDirs) rmSync(folder, { recursive: true, force: true });
  });

  test("a host that is asked to stop pauses all, and the next start has them", async () => {
    const stateDir = newState();
    const first = await Rig.start({ stateDir });
    await first.able();
    await first.template();
    const ids = ["a", "b", "c"];
    for (const id of ids) await first.place(id);
    for (const id of ids) await first.sh(id, `echo ${id} > /dev/shm/f; echo ${id} > /root/f`);
    const stoppedAt = Date.now();
    expect(await first.end("SIGTERM")).toBe(0);
    expect(Date.now() - stoppedAt).toBeLessThan(STOP_MS);
    await first.gateway.stop();
    const second = await Rig.start({ stateDir });
    const beat = await second.gateway.beat(() => true);
    expect(beat.vms.map(({ id, state }) => `${id} ${state}`).toSorted()).toEqual(
      ids.map((id) => `${id} paused`),
    );
    await second.able();
    for (const id of ids) {
      await resume(second, id);
      expect(await second.sh(id, "cat /dev/shm/f /root/f")).toBe(`${id}\n${id}`);
      await second.delete(id);
    }
    // What a resume leaves is removed after its answer.
    const left = () => contents(recordsOf(stateDir));
    await expect.poll(left).toEqual({ records: [], layers: [] });
    await second.stop();
  });

  describe("a host killed in the middle of", () => {
    const stateDir = newState();
    let rig: Rig;

    const start = async (): Promise<void> => {
      rig = await Rig.start({ stateDir });
      await rig.able();
    };
    beforeAll(start, MACHINE_MS);
    afterAll(() => rig?.stop());

    // The points lie anywhere between the call and its answer.
    test.each([
      ["pause", 0],
      ["pause", 60],
      ["pause", 150],
      ["snapshot", 40],
      ["snapshot", 120],
      ["delete", 5],
    ])("a %s (%i ms) leaves a record or nothing", async (act, ms) => {
      await rig.place("v");
      await rig.sh("v", "echo here > /dev/shm/f");
      if (act === "delete") await pause(rig, "v");
      const acting = act === "delete" ? rig.delete("v") : post(rig, "v", act, { snapshotId: "s" });
      const isAnswered = acting.then(
        ({ status }) => status < 300,
        () => false,
      );
      await wait(ms);
      await rig.end("SIGKILL");
      await rig.gateway.stop();
      await start();
      const [report] = rig.gateway.last?.vms ?? [];
      // What was answered is there; what is there is whole.
      const isPaused = report?.state === "paused";
      expect(isPaused || act !== "pause" || !(await isAnswered)).toBe(true);
      const said = isPaused ? await resumed(rig) : "here";
      const left = () => contents(recordsOf(stateDir));
      const isSnapshot = (name: string) => kindOf(stateDir, name) === "snapshot";
      // What a resume leaves is removed after its answer.
      await expect.poll(() => left().records.every(isSnapshot)).toBe(true);
      const { records } = left();
      await expect.poll(() => left().layers.length).toBe(records.length);
      const forked = records.length > 0 ? await forkOf(rig) : "here";
      expect([said, forked]).toEqual(["here", "here"]);
      await rig.call("DELETE", "/snapshots/s", "s");
      await runs(rig, 0);
      await expect.poll(left).toEqual({ records: [], layers: [] });
    });
  });

  describe("a record of", () => {
    const CHANGES: [string, string, (text: string) => string][] = [
      ["another QEMU", "qemu", (text) => text.replace(/"qemu":"[^"]+"/, '"qemu":"1.0"')],
      [
        "another accelerator",
        "accelerator",
        (text) => text.replace('"accelerator":"tcg"', '"accelerator":"kvm"'),
      ],
      ["another template", "template", (text) => text.replace(/"digest":"\w+"/, '"digest":"0"')],
    ];
    let rig: Rig;

    beforeAll(async () => {
      const stateDir = newState();
      rig = await Rig.start({ stateDir });
      await rig.able();
      for (const [, id] of CHANGES) {
        await rig.place(id);
        await pause(rig, id);
      }
      await rig.end("SIGTERM");
      await rig.gateway.stop();
      const folder = recordsOf(stateDir);
      for (const record of contents(folder).records) {
        const file = join(folder, record, "record.json");
        const text = readFileSync(file, "utf8");
        const { id } = MachineRecord.parse(JSON.parse(text));
        const changed = CHANGES.find(([, one]) => one === id)?.[2](text) ?? text;
        expect(changed).not.toBe(text);
        writeFileSync(file, changed);
      }
      rig = await Rig.start({ stateDir });
      await rig.able();
    }, MACHINE_MS);
    afterAll(() => rig?.stop());

    test.each(CHANGES)("%s is refused before it is tried", async (_name, id) => {
      const response = await post(rig, id, "resume");
      expect(response.status).toBe(409);
      const refused = StateRefused.parse(await response.json());
      expect(refused).toMatchObject({ code: "SnapshotNotRestorable", retryable: false });
      await runs(rig, 0);
      await rig.gateway.report(id, ({ state }) => state === "paused");
      await rig.delete(id);
    });
  });

  test("where pages cannot be read, machines are saved whole", async () => {
    const rig = await Rig.start({ env: { SVC_VM_SAVE: "stream" } });
    await rig.able();
    await rig.place("v", { envs: { COLOUR: "blue" } });
    await rig.sh("v", "echo kept > /dev/shm/f; echo kept > /root/f");
    await snapshot(rig, "v", "s");
    await rig.sh("v", "echo later > /dev/shm/f");
    for (let round = 0; round < 2; round += 1) {
      await pause(rig, "v");
      await resume(rig, "v");
      expect(await rig.sh("v", "cat /dev/shm/f; echo $COLOUR")).toBe("later\nblue");
    }
    await Promise.all(["f1", "f2", "f3"].map((id) => fork(rig, id, "s")));
    for (const id of ["f1", "f2", "f3"])
      expect(await rig.sh(id, "cat /dev/shm/f /root/f")).toBe("kept\nkept");
    await rig.stop();
  });

  test.skipIf(!isRoot)(
    "a full disk fails the snapshot with its reason, and the machine goes on",
    async () => {
      const folder = mkdtempSync(join(tmpdir(), "full-"));
      const cache = cacheDirOf(process.env);
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=64m", "tmpfs", folder]);
      for (const part of ["images", "templates", "layers", "accelerator.json"])
        symlinkSync(join(cache, part), join(folder, part));
      chmodSync(folder, 0o755);
      const rig = await Rig.start({ env: { SVC_CACHE_DIR: folder } });
      try {
        await rig.able();
        await rig.place("v");
        await rig.sh("v", "head -c 100000000 /dev/urandom > /dev/shm/big; echo alive > /root/f");
        for (const act of ["snapshot", "pause"]) {
          const response = await post(rig, "v", act, { snapshotId: "s" });
          expect(response.status).toBe(503);
          const refused = StateRefused.parse(await response.json());
          expect(refused).toMatchObject({ code: "SnapshotFailed", retryable: true });
          expect(refused.error).toMatch(/no space|ENOSPC/i);
          expect(await rig.sh("v", "cat /root/f")).toBe("alive");
        }
        await rig.sh("v", "rm /dev/shm/big");
        expect((await rig.delete("v")).status).toBe(204);
      } finally {
        await rig.stop();
        execFileSync("umount", ["--lazy", folder]);
        rmSync(folder, { recursive: true });
      }
    },
  );

  test.skipIf(!isRoot)(
    "a fork's inherited connections end at once, and the parent's goes on",
    async () => {
      const sockets: Socket[] = [];
      const server = createServer((socket) => {
        sockets.push(socket);
        socket.on("error", () => {});
      });
      const port = await listenAt(server);
      const rig = await Rig.start({ env: { SVC_EGRESS_ALLOW: `127.0.0.1:${port}` } });
      await rig.able();
      await rig.place("parent");
      const client = [
        "import socket",
        `s = socket.create_connection(('10.0.2.2', ${port}))`,
        "log = open('/root/log', 'a', 1)",
        "print('open', file=log)",
        "try:",
        " while True:",
        "  got = s.recv(100)",
        "  print('got', got.decode(), file=log)",
        "  if not got: break",
        "except OSError as error: print('error', error.errno, file=log)",
      ].join("\n");
      await rig.sh(
        "parent",
        `cat > /root/c.py <<'X'\n${client}\nX\nsetsid python3 /root/c.py >/dev/null 2>&1 &`,
      );
      const log = (id: string) => rig.sh(id, "cat /root/log").catch(() => "");
      await expect.poll(() => log("parent")).toBe("open");
      await snapshot(rig, "parent", "s");
      await fork(rig, "child", "s");
      await expect.poll(() => log("child")).toMatch(/^open\nerror \d+$/);
      expect(sockets).toHaveLength(1);
      sockets[0]?.write("hello");
      await expect.poll(() => log("parent")).toBe("open\ngot hello");
      await rig.stop();
      server.close();
    },
  );
});
