import { isDeepStrictEqual } from "node:util";
import { parse, stringify, type TomlTable } from "smol-toml";
import type { Wanted } from "./merge-json.ts";

/** TOML with the server in it; null when that cannot be done safely. The rest of the text stays, comments included. */
export function mergeToml(text: string, { under, name, entry }: Wanted): string | null {
  const before = read(text);
  if (!before) return null;
  if (isDeepStrictEqual(plain(serverOf(before, under, name)), plain(entry))) return text;
  const kept = withoutTable(text, `${under}.${name}`).trimEnd();
  const made = stringify({ [under]: { [name]: entry } }).trim();
  // The parent table says nothing by itself, and may be there already.
  const block = made.replace(`[${under}]\n`, "").trim();
  const merged = `${kept}${kept && "\n\n"}${block}\n`;
  return isSafe(before, read(merged), { under, name, entry }) ? merged : null;
}

/** The lines of a table and of those below it, left out. */
function withoutTable(text: string, table: string): string {
  let isInside = false;
  const lines = text.split("\n").filter((line) => {
    const [, header] = /^\s*\[([^[\]]+)\]\s*(?:#.*)?$/.exec(line) ?? [];
    const isOther = header === undefined && /^\s*\[\[/.test(line);
    if (header !== undefined) isInside = isBelow(header, table);
    else if (isOther) isInside = false;
    return !isInside;
  });
  return lines.join("\n");
}

function isBelow(header: string, table: string): boolean {
  const path = header.replaceAll(/["'\s]/g, "");
  return path === table || path.startsWith(`${table}.`);
}

/** Whether the merged file has the entry, and all else as before. */
function isSafe(
  before: TomlTable,
  after: TomlTable | null,
  { under, name, entry }: Wanted,
): boolean {
  if (!after || !isDeepStrictEqual(plain(serverOf(after, under, name)), plain(entry))) return false;
  return isDeepStrictEqual(rest(before, under, name), rest(after, under, name));
}

function rest(all: TomlTable, under: string, name: string): unknown {
  const copy = structuredClone(all) as Record<string, unknown>;
  const servers = copy[under];
  if (typeof servers === "object" && servers !== null) {
    Reflect.deleteProperty(servers, name);
    if (Object.keys(servers).length === 0) Reflect.deleteProperty(copy, under);
  }
  return plain(copy);
}

function serverOf(all: TomlTable, under: string, name: string): unknown {
  const servers = all[under];
  return typeof servers === "object" && servers !== null && name in servers
    ? (servers as TomlTable)[name]
    : undefined;
}

function read(text: string): TomlTable | null {
  try {
    return parse(text);
  } catch {
    return null;
  }
}

/** Tables of the parser have no prototype: here only what they say counts. */
const plain = (value: unknown): unknown =>
  value === undefined ? undefined : JSON.parse(JSON.stringify(value));
