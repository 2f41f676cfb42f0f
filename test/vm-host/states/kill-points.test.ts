import { once } from "node:events";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { MachineRecord } from "../../../vm-host/records/record.ts";
import { fork, pause, pidsOf, post, recordsOf, resume, runs, snapshot } from "../rig/acts.ts";
import { missingMachine } from "../rig/needs.ts";
import { Objects } from "../rig/objects.ts";
import { Rig } from "../rig/rig.ts";

const MACHINE_MS = 400_000;
const HOOK = fileURLToPath(new URL("../rig/kill-at.ts", import.meta.url));
const OURS = ["owner.json", "layers", "packing", "leftovers"];
const SOON = { timeout: 120_000 };
const SAY = "cat /dev/shm/f /root/f";
const SAID = "ram\ndisk";

type Act = "pause" | "snapshot" | "fork" | "delete";
/** How many points each act is cut at, from its first step to the one after its last. */
const POINTS: Record<Act, number> = { pause: 7, snapshot: 6, fork: 4, delete: 4 };

const Steps = z.object({ type: z.literal("steps"), steps: z.array(z.string()) });

/** What a host has counted. It says other things, too. */
async function stepsOf({ child }: Rig): Promise<string[]> {
  child.send({ isAsked: true });
  for (;;) {
    const [message] = await once(child, "message");
    const said = Steps.safeParse(message);
    if (said.success) return said.data.steps;
  }
}

const forkAnyhow = (rig: Rig) =>
  rig.put("f", { source: { type: "snapshot", id: "s", recordPath: "" } });

/** What each act needs, and the act. */
const ACTS: Record<
  Act,
  { before: (rig: Rig) => Promise<unknown>; act: (rig: Rig) => Promise<Response> }
> = {
  pause: { before: async () => {}, act: (rig) => post(rig, "v", "pause") },
  snapshot: {
    before: async () => {},
    act: (rig) => post(rig, "v", "snapshot", { snapshotId: "s" }),
  },
  fork: { before: (rig) => snapshot(rig, "v", "s"), act: forkAnyhow },
  delete: { before: (rig) => pause(rig, "v"), act: (rig) => rig.delete("v") },
};

/** What is there after an act, and what may be when it was not answered. */
const NEW: Record<Act, string> = {
  pause: "a pause, no snapshot",
  snapshot: "no pause, a snapshot",
  fork: "no pause, a snapshot",
  delete: "no pause, no snapshot",
};
const EITHER: Record<Act, string[]> = {
  pause: [NEW.pause, "no pause, no snapshot"],
  snapshot: [NEW.snapshot, "no pause, no snapshot"],
  fork: [NEW.fork],
  delete: [NEW.delete, "a pause, no snapshot"],
};

/** What a host that was killed has left, and what each machine of it says. */
async function whatIs(rig: Rig): Promise<{ found: string; said: string[] }> {
  const isPaused = rig.gateway.last?.vms.some(({ id }) => id === "v") ?? false;
  const said = [SAID];
  if (isPaused) {
    await resume(rig, "v");
    said.push(await rig.sh("v", SAY));
  }
  const { status } = await forkAnyhow(rig);
  if (status === 201) said.push(await rig.sh("f", SAY));
  const found = `${isPaused ? "a" : "no"} pause, ${status === 201 ? "a" : "no"} snapshot`;
  return { found, said };
}

/** All that a host has left on the machine that is of no use to the one that runs now. */
function leftBy(rig: Rig): string[] {
  const folder = recordsOf(rig.stateDir);
  const names = readdirSync(folder).filter((name) => !OURS.includes(name));
  const records = names.map((name) => {
    const text = readFileSync(join(folder, name, "record.json"), "utf8");
    return MachineRecord.parse(JSON.parse(text));
  });
  const needed = new Set(records.flatMap(({ layers }) => layers));
  const layers = readdirSync(join(folder, "layers")).filter((name) => !needed.has(name));
  const found = readdirSync(join(folder, "layers"));
  const missing = [...needed].filter((name) => !found.includes(name));
  const machines = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => commandOf(pid).includes(folder));
  const packed = readdirSync(join(folder, "packing"));
  return [
    ...layers.map((name) => `a layer of nobody: ${name}`),
    ...missing.map((name) => `a layer that is missing: ${name}`),
    ...machines.map((pid) => `a process: ${commandOf(pid)}`),
    ...packed.map((name) => `a packed file: ${name}`),
  ];
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
}

describe.skipIf(await missingMachine())("a host killed", { timeout: MACHINE_MS }, () => {
  const stateDir = mkdtempSync(join(tmpdir(), "vmkill-"));
  const objects = new Objects();
  let rig: Rig;

  const start = async (): Promise<void> => {
    // The store outlives the gateway: the template goes there once.
    rig = await Rig.start({ stateDir, objects, env: { NODE_OPTIONS: `--import=${HOOK}` } });
    await rig.able();
  };

  /** A machine with something in memory and on its disk, in the state that the act begins in. */
  const prepare = async (act: Act): Promise<void> => {
    await rig.place("v");
    await rig.sh("v", "echo ram > /dev/shm/f; echo disk > /root/f");
    await ACTS[act].before(rig);
  };

  const clear = async (): Promise<void> => {
    await Promise.all([rig.delete("v"), rig.delete("f")]);
    await rig.call("DELETE", "/snapshots/s", "s");
  };

  const steps = new Map<Act, number>();

  beforeAll(async () => {
    await start();
    await rig.template();
    for (const act of Object.keys(ACTS) as Act[]) {
      await prepare(act);
      rig.child.send({ killAt: 1_000_000 });
      expect((await ACTS[act].act(rig)).status).toBeLessThan(300);
      const found = await stepsOf(rig);
      // Otherwise nothing is counted, and every kill comes after the act.
      expect(found.length).toBeGreaterThanOrEqual(POINTS[act] - 1);
      steps.set(act, found.length);
      await clear();
    }
  }, 3 * MACHINE_MS);
  afterAll(async () => {
    await rig?.stop();
    rmSync(stateDir, { recursive: true, force: true });
  });

  // One that failed takes no other with it.
  beforeEach(clear);

  const points = (Object.keys(ACTS) as Act[]).flatMap((act) =>
    Array.from({ length: POINTS[act] }, (_, at) => [act, at + 1, POINTS[act]] as const),
  );

  test.each(points)(
    "in a %s, at point %i of %i, leaves the old or the new",
    async (act, at, of) => {
      await prepare(act);
      const killAt = Math.ceil((((steps.get(act) ?? 0) + 1) * at) / of);
      const ended = once(rig.child, "exit");
      rig.child.send({ killAt });
      const status = await ACTS[act].act(rig).then(
        (response) => response.status,
        () => null,
      );
      // At the last point all may have been done before.
      if (status !== null) rig.child.kill("SIGKILL");
      await ended;
      await rig.gateway.stop();
      await start();
      await expect.poll(() => leftBy(rig), SOON).toEqual([]);
      await runs(rig, 0);
      const { found, said } = await whatIs(rig);
      expect(status === null ? EITHER[act] : [NEW[act]]).toContain(found);
      expect(new Set(said)).toEqual(new Set([SAID]));
      await clear();
      await expect.poll(() => leftBy(rig), SOON).toEqual([]);
    },
  );

  test("a snapshot's forks are counted over a restart: the second makes it a template", async () => {
    await prepare("fork");
    await fork(rig, "f", "s");
    await rig.delete("f");
    await rig.end("SIGKILL");
    await rig.gateway.stop();
    await start();
    await fork(rig, "f", "s");
    await rig.delete("f");
    // From then on a fork is a clone: its memory lies over the snapshot's own template.
    const mapped = async (): Promise<boolean> => {
      await fork(rig, "f", "s");
      const memory = /mem-path=\S*\/templates\/(\w+)\/mem/;
      // Its own: others on this machine have machines, too.
      const keys = pidsOf(rig).flatMap((pid) => memory.exec(commandOf(String(pid)))?.[1] ?? []);
      await rig.delete("f");
      return keys.length > 0 && !keys.includes(plain);
    };
    await rig.template();
    await rig.place("plain");
    // The last fork's process may take a moment to go.
    await runs(rig, 1);
    const plain =
      pidsOf(rig)
        .map((pid) => commandOf(String(pid)))
        .find((line) => line.includes(recordsOf(stateDir)))
        ?.match(/templates\/(\w+)\/mem/)?.[1] ?? "";
    await rig.delete("plain");
    expect(plain).not.toBe("");
    // Forked without a pause meanwhile: that must not put it off for ever.
    await expect.poll(mapped, { timeout: 120_000 }).toBe(true);
    await clear();
  });
});
