import type { Match } from "@svc/contract/control-channel/file-methods.ts";
import {
  type Dirent,
  closeSync,
  constants,
  fstatSync,
  openSync,
  readSync,
  readdirSync,
  realpathSync,
} from "node:fs";
import { join, relative } from "node:path";
import { globTest } from "./glob.ts";
import { kernelFoldersBelow } from "./kernel-folders.ts";
import { RAW, bytesOf, textOf } from "./names.ts";

const DEPTH = 64;
const PREVIEW_CHARACTERS = 200;
/** Larger files, and those with a NUL in their first part, are not looked into. */
const FILE_BYTES = 8 * 1024 * 1024;
const SAMPLE_BYTES = 8 * 1024;
/** No more of a line is looked at. */
const LINE_CHARACTERS = 2_000;
const OPEN = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/** The parameters of a search: a folder, and what names and lines must match. */
export interface Search {
  path: string;
  glob?: string;
  text?: string;
  regex?: string;
  limit: number;
}

/** The matches of a search, and whether there were more than its limit. */
export interface SearchResult {
  matches: Match[];
  truncated: boolean;
}

/** Where a line matches, or -1. */
type Find = (line: string) => number;

/**
 * Files by name and, when asked, lines by content. Holds its thread until the end, which a pattern that backtracks never
 * reaches: `search` runs it in a thread that can be ended.
 */
export class Matcher {
  readonly #search: Search;
  readonly #find: Find | null;
  readonly #matches: Match[] = [];
  readonly #buffer = Buffer.allocUnsafe(FILE_BYTES + 1);

  constructor(search: Search) {
    this.#search = search;
    this.#find = finderOf(search);
  }

  run(): SearchResult {
    const { path, glob, limit } = this.#search;
    const fits = glob === undefined ? () => true : globTest(glob);
    for (const [found, entry] of walk(path)) {
      if (!fits(relative(path, found))) continue;
      if (!this.#find) this.#matches.push({ path: found });
      else if (entry.isFile()) this.#searchFile(found, this.#find);
      if (this.#isFull) break;
    }
    return { matches: this.#matches.slice(0, limit), truncated: this.#isFull };
  }

  get #isFull(): boolean {
    return this.#matches.length > this.#search.limit;
  }

  #searchFile(path: string, find: Find): void {
    const text = this.#read(path);
    if (text === null) return;
    for (let from = 0, line = 1; from <= text.length && !this.#isFull; line += 1) {
      const end = text.indexOf("\n", from);
      const to = end < 0 ? text.length : end;
      this.#searchLine(path, text.slice(from, Math.min(to, from + LINE_CHARACTERS)), line, find);
      from = to + 1;
    }
  }

  #searchLine(path: string, text: string, line: number, find: Find): void {
    const column = find(text);
    if (column < 0) return;
    const preview = text.trim().slice(0, PREVIEW_CHARACTERS);
    this.#matches.push({ path, line, column: column + 1, preview });
  }

  /** The text of a plain file; null of what is none, is too large, or cannot be read. */
  #read(path: string): string | null {
    let file = -1;
    try {
      file = openSync(bytesOf(path), OPEN);
      const stats = fstatSync(file);
      if (!stats.isFile() || stats.size > FILE_BYTES) return null;
      return this.#textOf(file);
    } catch {
      // The file has gone, or may not be read: a search passes over such files.
      return null;
    } finally {
      if (file >= 0) closeSync(file);
    }
  }

  /** Reads to the end: files of the kernel tell no size. */
  #textOf(file: number): string | null {
    let size = 0;
    for (let count = -1; count !== 0 && size <= FILE_BYTES; size += count)
      count = readSync(file, this.#buffer, size, this.#buffer.length - size, null);
    const bytes = this.#buffer.subarray(0, size);
    if (size > FILE_BYTES || bytes.subarray(0, SAMPLE_BYTES).includes(0)) return null;
    return bytes.toString();
  }
}

/** Entries below a folder, a level at a time. Links are not followed. */
function* walk(root: string): Generator<[string, Dirent]> {
  const skipped = kernelFoldersBelow(root, textOf(realpathSync.native(bytesOf(root), RAW)));
  let level = [root];
  for (let left = DEPTH; left > 0 && level.length > 0; left -= 1) {
    const next: string[] = [];
    for (const folder of level)
      for (const entry of entriesOf(folder, folder === root)) {
        const path = join(folder, textOf(entry.name));
        yield [path, entry];
        if (entry.isDirectory() && !skipped.has(path)) next.push(path);
      }
    level = next;
  }
}

function entriesOf(folder: string, isRoot: boolean): Dirent[] {
  try {
    return readdirSync(bytesOf(folder), { withFileTypes: true, encoding: RAW });
  } catch (error) {
    if (isRoot) throw error;
    return [];
  }
}

function finderOf({ text, regex }: Pick<Search, "text" | "regex">): Find | null {
  if (text !== undefined) return (line) => line.indexOf(text);
  if (regex === undefined) return null;
  const pattern = new RegExp(regex, "u");
  return (line) => line.search(pattern);
}
