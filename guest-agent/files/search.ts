import type { Match } from "@svc/contract/control-channel/file-methods.ts";
import { RPC_CODES, RpcError } from "@svc/contract/control-channel/rpc-error.ts";
import { readFile, stat } from "node:fs/promises";
import { relative } from "node:path";
import { globTest } from "./glob.ts";
import { walk } from "./walk.ts";

const DEPTH = 64;
const PREVIEW_CHARACTERS = 200;
/** Larger files, and those with a NUL in their first part, are not looked into. */
const FILE_BYTES = 8 * 1024 * 1024;
const SAMPLE_BYTES = 8 * 1024;
/** Backtracking of a regular expression cannot be stopped: it sees no more of a line than this. */
const LINE_CHARACTERS = 2_000;

export interface Search {
  path: string;
  glob?: string;
  text?: string;
  regex?: string;
  limit: number;
}

/** Files by name and, when asked, lines by content. */
export async function search({ path, glob, limit, ...content }: Search, signal: AbortSignal) {
  const fits = glob === undefined ? () => true : globTest(glob);
  const find = finderOf(content);
  const matches: Match[] = [];
  for await (const found of walk(path, DEPTH)) {
    signal.throwIfAborted();
    if (!fits(relative(path, found.path))) continue;
    if (!find) matches.push({ path: found.path });
    else if (found.isFile) await searchFile(found.path, find, limit, matches);
    if (matches.length > limit) break;
  }
  return { matches: matches.slice(0, limit), truncated: matches.length > limit };
}

/** Where a line matches, or -1. */
type Find = (line: string) => number;

function finderOf({ text, regex }: Pick<Search, "text" | "regex">): Find | null {
  if (text !== undefined) return (line) => line.indexOf(text);
  if (regex === undefined) return null;
  try {
    const pattern = new RegExp(regex, "u");
    return (line) => line.search(pattern);
  } catch (error) {
    const message = error instanceof Error ? error.message : "";
    throw new RpcError(RPC_CODES.params, `regex: ${message}`, { field: "regex" });
  }
}

async function searchFile(path: string, find: Find, limit: number, into: Match[]) {
  const stats = await stat(path).catch(() => null);
  if (!stats || stats.size > FILE_BYTES) return;
  const bytes = await readFile(path).catch(() => null);
  if (!bytes || bytes.subarray(0, SAMPLE_BYTES).includes(0)) return;
  const lines = bytes.toString().split("\n");
  for (const [at, whole] of lines.entries()) {
    const line = whole.slice(0, LINE_CHARACTERS);
    const column = find(line);
    if (column < 0) continue;
    const preview = line.trim().slice(0, PREVIEW_CHARACTERS);
    into.push({ path, line: at + 1, column: column + 1, preview });
    if (into.length > limit) return;
  }
}
