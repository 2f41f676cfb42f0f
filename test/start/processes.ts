import { readFileSync, readdirSync } from "node:fs";
import { expect } from "vitest";

export interface Process {
  pid: number;
  parent: number;
  command: string;
  /** Ticks since boot: a pid that comes again has another. */
  bornAt: string;
}

/** Every process of this machine that is more than a zombie. */
export function processes(): Process[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readProcess(Number(name)) ?? []);
}

function readProcess(pid: number): Process | undefined {
  const stat = read(`/proc/${pid}/stat`);
  // The name stands in brackets and may hold anything.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, parent] = fields;
  if (!stat || state === "Z" || state === "X") return undefined;
  const command = read(`/proc/${pid}/cmdline`).replaceAll("\0", " ").trim();
  return { pid, parent: Number(parent), command, bornAt: fields[19] ?? "" };
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

/** The process and all that came from it, as far as the line of parents is whole. */
export function descendants(pid: number): Process[] {
  const all = processes();
  const found = all.filter((process) => process.pid === pid);
  for (const process of found) found.push(...all.filter((other) => other.parent === process.pid));
  return found;
}

/** Those that name this folder in their command line or environment. */
export function marked(folder: string): Process[] {
  return processes().filter(
    ({ pid, command }) => command.includes(folder) || read(`/proc/${pid}/environ`).includes(folder),
  );
}

/** What ends because another has ended may be loading still, and hears of it after that. */
export const GONE_MS = 120_000;

/** Waits until all of these are gone. */
export async function expectGone(known: Process[]): Promise<void> {
  const alive = () => known.filter(isAlive).map(({ pid, command }) => `${pid} ${command}`);
  await expect.poll(alive, { timeout: GONE_MS }).toEqual([]);
}

export function isAlive({ pid, bornAt }: Process): boolean {
  return readProcess(pid)?.bornAt === bornAt;
}
