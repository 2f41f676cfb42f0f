import { execFile } from "node:child_process";
import { readdirSync, readlinkSync } from "node:fs";
import { promisify } from "node:util";
import type { Process } from "./processes.ts";

const run = promisify(execFile);

/** In how many networks these processes are. */
export function networksOf(processes: Process[]): number {
  const names = processes.flatMap(({ pid }) => {
    try {
      return [readlinkSync(`/proc/${pid}/ns/net`)];
    } catch {
      // The process has ended.
      return [];
    }
  });
  return new Set(names).size;
}

/** Counts of named network namespaces and of nftables tables, which a program leaves behind in the network of the machine. */
export async function hostNetwork(): Promise<Record<string, number>> {
  // Absent where there is no such program, or nobody may use it: then none was made either.
  const { stdout } = await run("nft", ["list", "tables"]).catch(() => ({ stdout: "" }));
  return {
    "network namespaces with names": namesIn("/run/netns"),
    "tables of nftables": stdout.split("\n").filter(Boolean).length,
  };
}

function namesIn(folder: string): number {
  try {
    return readdirSync(folder).length;
  } catch {
    return 0;
  }
}
