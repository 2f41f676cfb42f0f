import { copyFile, open } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import * as z from "zod";
import { FILES, type GoldenMachine, type SaveMode, type Saved } from "../driver.ts";
import { run } from "../programs.ts";
import type { QemuMachine } from "./machine.ts";
import { ownRuns, regionOf } from "./pagemap.ts";
import { loadPages, mergePages, savePages } from "./pages.ts";
import type { QemuProcess } from "./process.ts";
import { saveStream } from "./stream.ts";

const LOOK_MS = 2;
/** How long a process may take to have its memory. */
const MAPPED_MS = 60_000;

const Commands = z.array(z.object({ name: z.string() }));

/** How this QEMU's machines can be saved here: its pages alone need one odd command, and a process that may be read. */
export async function modeOf(machine: QemuMachine): Promise<SaveMode> {
  const commands = Commands.parse(await machine.monitor.execute("query-commands"));
  if (!commands.some(({ name }) => name === "xen-save-devices-state")) return "stream";
  const file = await open(`/proc/${machine.pid}/mem`).catch(() => null);
  await file?.close();
  return file ? "delta" : "stream";
}

/** Writes a stopped machine into a folder. */
export async function saveMachine(
  machine: QemuMachine,
  folder: string,
  mode: SaveMode,
): Promise<Saved> {
  if (mode === "stream") {
    await saveStream(machine, join(folder, FILES.stream));
    return { mode, pages: 0 };
  }
  const region = await regionOf(machine.pid, memoryOf(machine));
  const [runs] = await Promise.all([ownRuns(machine.pid, region), machine.save()]);
  const file = await open(join(folder, FILES.pages), "wx", 0o600);
  try {
    const pages = await savePages(machine.pid, region, runs, file);
    await copyFile(join(machine.folder, FILES.state), join(folder, FILES.state));
    return { mode, pages };
  } finally {
    await file.close();
  }
}

/**
 * Puts a folder's pages into a machine whose process has just begun, while it makes its devices: these do not touch its
 * memory before they load their state.
 */
export async function loadMemory(
  process: Pick<QemuProcess, "pid" | "gone">,
  memory: string,
  folder: string,
): Promise<void> {
  const region = await comingRegion(process, memory);
  await loadPages(process.pid, region, join(folder, FILES.pages));
}

async function comingRegion({ pid, gone }: Pick<QemuProcess, "pid" | "gone">, memory: string) {
  const until = performance.now() + MAPPED_MS;
  for (;;) {
    gone.throwIfAborted();
    const region = await regionOf(pid, memory).catch((error: unknown) => {
      if (performance.now() > until) throw error;
    });
    if (region) return region;
    await pause(LOOK_MS);
  }
}

/** Writes a golden machine's memory with a folder's pages over it. Empty parts take no space. */
export async function spreadMemory(
  golden: GoldenMachine,
  folder: string,
  to: string,
): Promise<void> {
  const target = join(to, FILES.memory);
  await run("cp", ["--sparse=always", join(golden.folder, FILES.memory), target]);
  const memory = await open(target, "r+");
  try {
    await mergePages(join(folder, FILES.pages), memory);
  } finally {
    await memory.close();
  }
}

function memoryOf({ golden }: QemuMachine): string {
  if (!golden) throw new Error("the machine has no golden machine");
  return join(golden.folder, FILES.memory);
}
