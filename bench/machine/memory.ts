import { setTimeout as pause } from "node:timers/promises";
import { readProc, treeOf } from "./processes.ts";

const STEADY_TRIES = 20;
const STEADY_PAUSE_MS = 500;
const STEADY_SHARE = 0.02;

/** Resident memory of one process in MiB. */
export function residentMib(pid: number): number {
  return kibOf(readProc(pid, "status"), "VmRSS") / 1024;
}

/** Memory of a process tree in MiB, each shared page divided by its sharers. */
export function proportionalMib(pid: number): number {
  const kib = treeOf(pid).map((process) => kibOf(readProc(process.pid, "smaps_rollup"), "Pss"));
  return kib.reduce((sum, value) => sum + value, 0) / 1024;
}

/** A measure once two readings in a row agree: a new browser still tidies up. */
export async function steady(measure: () => number): Promise<number> {
  let last = measure();
  for (let tries = 0; tries < STEADY_TRIES; tries += 1) {
    await pause(STEADY_PAUSE_MS);
    const next = measure();
    if (Math.abs(next - last) <= last * STEADY_SHARE) return next;
    last = next;
  }
  return last;
}

function kibOf(text: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(text)?.[1] ?? 0);
}
