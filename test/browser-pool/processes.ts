import { readFileSync, readdirSync } from "node:fs";

export interface ProcessInfo {
  pid: number;
  parent: number;
  /** When it began, in the machine's ticks: pids begin again at the end of their range, and tell neither order nor identity. */
  began: number;
  command: string;
}

/** Every process of the machine that is more than a zombie. */
export function processes(): ProcessInfo[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, "utf8");
        const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
        const command = readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ");
        const [parent, began] = [Number(fields[1]), Number(fields[19])];
        // Its parent has yet to hear of its end.
        if (fields[0] === "Z" || fields[0] === "X") return [];
        return [{ pid: Number(name), parent, began, command }];
      } catch {
        // It ended meanwhile.
        return [];
      }
    });
}

/** All processes below one. */
export function below(pid: number): ProcessInfo[] {
  const all = processes();
  const under = (parent: number): ProcessInfo[] =>
    all.filter((one) => one.parent === parent).flatMap((one) => [one, ...under(one.pid)]);
  return under(pid);
}

/** The main processes of the browsers below a pool, oldest first. */
export function browsersOf(pool: number): number[] {
  const found = below(pool)
    .filter(({ command }) => /^\S*chrom\S* .*--remote-debugging-pipe/.test(command))
    .filter(({ command }) => !command.includes("--type="));
  const pids = new Set(found.map(({ pid }) => pid));
  return (
    found
      // What a browser has just forked goes by its command until it becomes another program.
      .filter(({ parent }) => !pids.has(parent))
      .toSorted((left, right) => left.began - right.began)
      .map((one) => one.pid)
  );
}
