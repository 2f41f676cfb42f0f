import { readFile } from "node:fs/promises";

/** What tells a process from a later process with the same pid. */
export interface ProcessFacts {
  /** In the kernel's ticks since the start of the computer. */
  startedAt: string;
  /** The process has ended and waits for its parent. */
  isZombie: boolean;
}

/** What /proc says of a process; null when there is none. */
export async function factsOf(pid: number): Promise<ProcessFacts | null> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null);
  if (text === null) return null;
  // The program's name before these fields may have spaces and parentheses.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return { startedAt: fields[19] ?? "", isZombie: fields[0] === "Z" };
}

/** Kills a process. Nothing when it has ended already. */
export function killQuietly(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended already.
  }
}
