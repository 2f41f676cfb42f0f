import type { LogLine } from "@svc/contract/log.ts";

const ROOM_WIDTH = 12;
const MOST_FIELDS = 30;
const LONGEST_VALUE = { usual: 200, fault: 1_000 };
const SECRET_NAMES = /token|secret|password|authorization|cookie|(^|\.)key$/i;
const API_KEY = /svc_live_\w+/g;
// Control and format characters, line separators and lone surrogates: any of them may drive a terminal or hide text.
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const COLOURS: Record<string, string> = { warn: "\x1b[33m", error: "\x1b[31m" };
const DIM = "\x1b[2m";
const PLAIN = "\x1b[0m";

/** A log line for a person at a terminal, without a line break. Values come from guests and pages: none drives the terminal. */
export function readable(line: LogLine, isColoured: boolean): string {
  const { time, level, room, event, ...fields } = line;
  const isFault = level === "warn" || level === "error";
  const limit = isFault ? LONGEST_VALUE.fault : LONGEST_VALUE.usual;
  // Needed to find the other lines of a request that went wrong.
  if (!isFault) delete fields["requestId"];
  const head = `${clock(time)} ${safe(room, limit).padEnd(ROOM_WIDTH)}`;
  const words = safe(event, limit).replaceAll("_", " ");
  const said = isFault ? `${level.toUpperCase()} ${words}` : words;
  const rest = flat(fields)
    .slice(0, MOST_FIELDS)
    .map(([name, value]) => `${safe(name, limit)}=${valueText(name, value, limit)}`)
    .join(" ");
  if (!isColoured) return [head, said, rest].filter(Boolean).join(" ");
  const colour = COLOURS[level];
  const shown = colour ? `${colour}${said}${PLAIN}` : said;
  return [`${DIM}${head}${PLAIN}`, shown, rest && `${DIM}${rest}${PLAIN}`]
    .filter(Boolean)
    .join(" ");
}

/** HH:MM:SS on the clock of this machine. */
function clock(time: string): string {
  const at = new Date(time);
  return Number.isNaN(at.getTime()) ? "--:--:--" : at.toTimeString().slice(0, 8);
}

/** Fields of fields as `accelerator.name`. What has no value is left out. */
function flat(fields: object, prefix = ""): [name: string, value: unknown][] {
  return Object.entries(fields).flatMap(([key, value]: [string, unknown]) => {
    const name = `${prefix}${key}`;
    if (typeof value === "object" && value !== null) return flat(value, `${name}.`);
    return value === undefined ? [] : [[name, value]];
  });
}

function valueText(name: string, value: unknown, limit: number): string {
  if (SECRET_NAMES.test(name)) return "***";
  const shown = safe(String(value).replaceAll(API_KEY, "svc_live_***"), limit);
  const needsQuotes = /[\s="]|^$/.test(shown);
  return needsQuotes ? `"${shown.replaceAll('"', '\\"')}"` : shown;
}

/** Cut to `limit` characters, with every character that is not text written as its number. */
function safe(text: string, limit: number): string {
  const cut = text.length > limit ? `${text.slice(0, limit)}…` : text;
  return cut.replaceAll(UNSAFE, (character) => {
    if (character === "\n") return "\\n";
    return `\\u{${character.codePointAt(0)?.toString(16)}}`;
  });
}
