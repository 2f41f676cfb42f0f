import { copyFile, open } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import type { SaveMode, Saved, Template } from "../driver.ts";
import { run } from "../programs.ts";
import { ownRuns, regionOf } from "../snapshots/pagemap.ts";
import { loadPages, mergePages, savePages } from "../snapshots/pages.ts";
import { FILES } from "./command.ts";
import type { QemuMachine } from "./machine.ts";
import { saveStream } from "./stream.ts";

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

/** Puts a folder's pages into a machine that has not begun. */
export async function loadMemory(machine: QemuMachine, folder: string): Promise<void> {
  const region = await regionOf(machine.pid, memoryOf(machine));
  await loadPages(machine.pid, region, join(folder, FILES.pages));
}

/** Writes a template's memory with a folder's pages over it. What is empty there takes no room here. */
export async function spreadMemory(template: Template, folder: string, to: string): Promise<void> {
  const target = join(to, FILES.memory);
  await run("cp", ["--sparse=always", join(template.folder, FILES.memory), target]);
  const memory = await open(target, "r+");
  try {
    await mergePages(join(folder, FILES.pages), memory);
  } finally {
    await memory.close();
  }
}

function memoryOf({ template }: QemuMachine): string {
  if (!template) throw new Error("the machine has no template");
  return join(template.folder, FILES.memory);
}
