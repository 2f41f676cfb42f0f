import { readFileSync, readdirSync } from "node:fs";

export interface Process {
  pid: number;
  parent: number;
  command: string;
  isZombie: boolean;
}

/** Every process of this machine that can be seen. */
export function processes(): Process[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readProcess(Number(name)) ?? []);
}

function readProcess(pid: number): Process | undefined {
  const stat = readProc(pid, "stat");
  if (!stat) return undefined;
  // The name stands in brackets and may hold anything.
  const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const command = readProc(pid, "cmdline").replaceAll("\0", " ").trim();
  return { pid, parent: Number(parent), command, isZombie: state === "Z" || state === "X" };
}

/** A file of /proc/<pid>; empty when the process is gone. */
export function readProc(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return "";
  }
}

/** A process and all that came from it. */
export function treeOf(pid: number, all = processes()): Process[] {
  const found = all.filter((process) => process.pid === pid);
  for (const process of found) found.push(...all.filter((other) => other.parent === process.pid));
  return found;
}

/** What a process of the service is, by a piece of its command line. */
const ROLES = {
  gateway: "scripts/gateway-main.ts",
  workerd: "/bin/workerd serve",
  pool: "browser-pool/main.ts",
} as const;
export type Role = keyof typeof ROLES;

/** The process of a role below another process; null while it is not there. */
export function find(role: Role, below: number, all = processes()): Process | null {
  const tree = treeOf(below, all).filter((process) => !process.isZombie);
  return tree.find(({ command }) => command.includes(ROLES[role])) ?? null;
}

/** Playwright's process of a pool, of which there is one for each minor in use. */
const PLAYWRIGHT = "playwright-process/main.ts";

/** The outermost process of each slot of a pool: its other children are Playwright's. */
export function slotsOf(poolPid: number, all = processes()): Process[] {
  return childrenOf(poolPid, all).filter(({ pid }) => !isPlaywright(pid, all));
}

/** The outermost process of each Playwright of a pool. */
export function playwrightsOf(poolPid: number, all = processes()): Process[] {
  return childrenOf(poolPid, all).filter(({ pid }) => isPlaywright(pid, all));
}

const childrenOf = (parentPid: number, all: Process[]): Process[] =>
  all.filter(({ parent, isZombie }) => parent === parentPid && !isZombie);

const isPlaywright = (pid: number, all: Process[]): boolean =>
  treeOf(pid, all).some(({ command }) => command.includes(PLAYWRIGHT));

/** How many file descriptors a process holds; 0 when it is gone. */
export function descriptors(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return 0;
  }
}
