import { styled } from "./colours.ts";
import { plain } from "./plain.ts";

/** A column: its heading, and what an item has there. */
export type Columns<Item> = Readonly<Record<string, (item: Item) => string | number | undefined>>;

/** Lines with aligned columns under their headings. Nothing is cut: ids are there to be copied. */
export function table<Item>(items: readonly Item[], columns: Columns<Item>): string {
  const names = Object.keys(columns);
  const rows = items.map((item) =>
    names.map((name) => plain(String(columns[name]?.(item) ?? "-"))),
  );
  const heads = names.map((name) => name.toUpperCase());
  const widths = names.map((_, at) =>
    Math.max(...[heads, ...rows].map((row) => row[at]?.length ?? 0)),
  );
  const line = (row: readonly string[]): string =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join("  ")
      .trimEnd();
  return [styled("dim", line(heads)), ...rows.map(line)].join("\n");
}

/** Facts of one thing, a line each; those that are absent are left out. */
export function facts(all: Readonly<Record<string, string | number | null | undefined>>): string {
  const given = Object.entries(all).filter(([, value]) => value !== null && value !== undefined);
  const width = Math.max(0, ...given.map(([name]) => name.length));
  return given
    .map(([name, value]) => `${styled("dim", name.padEnd(width))}  ${plain(String(value))}`)
    .join("\n");
}

/** `3m ago`, `2h ago`. */
export function ago(moment: string | null | undefined, now = Date.now()): string | undefined {
  if (!moment) return undefined;
  const seconds = Math.round((now - Date.parse(moment)) / 1000);
  const text = spanOf(Math.abs(seconds));
  return seconds >= 0 ? `${text} ago` : `in ${text}`;
}

function spanOf(seconds: number): string {
  if (seconds < 100) return `${seconds}s`;
  if (seconds < 6_000) return `${Math.round(seconds / 60)}m`;
  if (seconds < 360_000) return `${Math.round(seconds / 3_600)}h`;
  return `${Math.round(seconds / 86_400)}d`;
}

/** `1.5 GiB`. */
export function bytesText(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = bytes;
  let at = 0;
  for (; value >= 1024 && at < units.length - 1; at += 1) value /= 1024;
  return `${at === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[at] ?? ""}`;
}
