import { applyEdits, modify, parse, type ParseError } from "jsonc-parser";
import type { Value } from "./clients.ts";

/** The entry that a file is to have. */
export interface Wanted {
  /** The name under which servers are. */
  under: string;
  name: string;
  entry: { [key: string]: Value };
  /** Lists that have to have these elements, by their `id`. */
  beside?: { [key: string]: Value } | undefined;
}

const LOOK = { formattingOptions: { insertSpaces: true, tabSize: 2, eol: "\n" } };

/** JSON, comments allowed, with the server in it; null when it cannot be read. The rest of the text stays. */
export function mergeJson(
  text: string,
  { under, name, entry, beside = {} }: Wanted,
): string | null {
  let merged = text.trim() === "" ? "{}\n" : text;
  const root = read(merged);
  if (!root) return null;
  if (under in root && !isObject(root[under])) return null;
  const set = (path: (string | number)[], value: unknown): void => {
    merged = applyEdits(merged, modify(merged, path, value, LOOK));
  };
  for (const [list, elements] of Object.entries(beside)) {
    const there = root[list] ?? [];
    if (!Array.isArray(there) || !Array.isArray(elements)) return null;
    if (!(list in root)) set([list], elements);
    else
      for (const element of elements)
        if (!there.some((one) => idOf(one) === idOf(element))) set([list, -1], element);
  }
  const servers = isObject(root[under]) ? root[under] : {};
  if (JSON.stringify(servers[name]) !== JSON.stringify(entry)) set([under, name], entry);
  return read(merged) ? merged : null;
}

function read(text: string): { [key: string]: unknown } | null {
  const errors: ParseError[] = [];
  const value: unknown = parse(text, errors, { allowTrailingComma: true });
  return errors.length === 0 && isObject(value) ? value : null;
}

const isObject = (value: unknown): value is { [key: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const idOf = (value: unknown): unknown => (isObject(value) ? value["id"] : undefined);
