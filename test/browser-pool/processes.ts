import { readFileSync, readdirSync } from "node:fs";

export interface ProcessInfo {
  pid: number;
  parent: number;
  command: string;
}

/** Every process of the machine. */
export function processes(): ProcessInfo[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, "utf8");
        const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
        const command = readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ");
        return [{ pid: Number(name), parent, command }];
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
  return below(pool)
    .filter(({ command }) => /^\S*chrom\S* .*--remote-debugging-pipe/.test(command))
    .filter(({ command }) => !command.includes("--type="))
    .map((one) => one.pid)
    .toSorted((left, right) => left - right);
}
