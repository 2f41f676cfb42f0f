import { readdir, readFile } from "node:fs/promises";

interface Process {
  pid: number;
  parent: number;
  command: string;
  /** In clock ticks since the start of the computer. */
  startedAt: number;
}

async function processOf(pid: number): Promise<Process[]> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    const command = await readFile(`/proc/${pid}/cmdline`, "utf8");
    // The name before it may have spaces and brackets of its own.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // Its parent has yet to hear of its end.
    if (fields[0] === "Z" || fields[0] === "X") return [];
    const [parent, startedAt] = [Number(fields[1]), Number(fields[19])];
    return [{ pid, parent, command: command.replaceAll("\0", " "), startedAt }];
  } catch {
    return [];
  }
}

/** Sends a signal to a process, unless it ended meanwhile: one end may have taken others along. */
export function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

/** Kills a process, unless it ended meanwhile. */
export function killIfThere(pid: number): void {
  signalIfThere(pid, "SIGKILL");
}

/**
 * Pids of all living descendants of a process whose command line has `text`, the oldest first. Their numbers say nothing of
 * their age: they begin again at 1 when they have come to the highest.
 */
export async function descendants(root: number, text = ""): Promise<number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const all = (await Promise.all(pids.map(processOf))).flat();
  const found = new Set([root]);
  for (let before = 0; before < found.size;) {
    before = found.size;
    for (const { pid, parent } of all) if (found.has(parent)) found.add(pid);
  }
  return all
    .filter(({ pid, command }) => pid !== root && found.has(pid) && command.includes(text))
    .toSorted((left, right) => left.startedAt - right.startedAt || left.pid - right.pid)
    .map(({ pid }) => pid);
}
