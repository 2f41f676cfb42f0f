import { setTimeout as pause } from "node:timers/promises";
import { readProc, treeOf } from "../machine/processes.ts";
import { proportionalMib } from "../machine/memory.ts";
import type { VmHost } from "./host.ts";

const CLONES = 10;
const REST_MS = 15_000;
const WATCH_MS = 20_000;
const TICK_MS = 10;

/** What a machine costs that does nothing: MiB of memory, a shared page divided by its sharers, and % of a processor. */
export interface Idle {
  pssMib: number[];
  cpuPct: number[];
}

/** Ten machines that have each run one command, left alone. */
export async function measureIdle(host: VmHost): Promise<Idle> {
  const ids = Array.from({ length: CLONES }, (_, index) => `idle-${index}`);
  for (const id of ids) await host.firstExec(id);
  await pause(REST_MS);
  const pids = machinesOf(host.program.pid);
  const before = pids.map(cpuMs);
  await pause(WATCH_MS);
  const cpuPct = pids.map((pid, at) => (100 * (cpuMs(pid) - (before[at] ?? 0))) / WATCH_MS);
  const pssMib = pids.map(proportionalMib);
  await Promise.all(ids.map((id) => host.end(id)));
  return { pssMib, cpuPct };
}

/** Pids of the machines of a host. */
export function machinesOf(host: number): number[] {
  const machines = treeOf(host).filter(({ command }) => command.startsWith("qemu-system"));
  return machines.map(({ pid }) => pid);
}

/** What a process has had of processors so far. */
export function cpuMs(pid: number): number {
  const stat = readProc(pid, "stat");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}
