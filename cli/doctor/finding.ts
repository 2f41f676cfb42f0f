import { styled } from "../terminal/colours.ts";
import { plain } from "../terminal/plain.ts";

/** `ok`; `weak`: it works, and something is worse than it could be; `missing`: something is off without it. */
export type State = "ok" | "weak" | "missing";

/** A thing that was looked at, its state, and the one command that mends it. */
export interface Finding {
  what: string;
  state: State;
  note: string;
  /** A command line; absent where none can help. */
  fix?: string | undefined;
}

const MARKS = { ok: ["✔", "green"], weak: ["▲", "yellow"], missing: ["✖", "red"] } as const;

/** Each finding in a line, with its command below. */
export function findingsText(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ what }) => what.length));
  return findings.map((finding) => findingText(finding, width)).join("\n");
}

function findingText({ what, state, note, fix }: Finding, width: number): string {
  const [mark, colour] = MARKS[state];
  const indent = width + 4;
  const [first = "", ...more] = [
    ...wrapped(plain(note), indent),
    ...(fix ? [styled("cyan", plain(fix))] : []),
  ];
  const line = `${styled(colour, mark)} ${what.padEnd(width)}  ${first}`;
  return [line, ...more.map((text) => " ".repeat(indent) + text)].join("\n");
}

/** A note in lines of a terminal, each below the first; in a pipe it is one line. */
function wrapped(text: string, indent: number): string[] {
  const { isTTY, columns } = process.stdout;
  const most = isTTY ? Math.max(20, columns - indent) : Infinity;
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines.at(-1) ?? "";
    if (last !== "" && last.length + 1 + word.length > most) lines.push(word);
    else lines[lines.length - 1] = last === "" ? word : `${last} ${word}`;
  }
  return lines;
}

/** The number of findings in each state. */
export function sumText(findings: readonly Finding[]): string {
  const of = (state: State): number => findings.filter((one) => one.state === state).length;
  const parts = [`${of("ok")} fine`];
  if (of("weak") > 0) parts.push(`${of("weak")} could be better`);
  if (of("missing") > 0) parts.push(`${of("missing")} missing`);
  return parts.join(", ");
}

/** Findings as a program of the project prints them; null when the text is none. */
export function readFindings(text: string): Finding[] | null {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) && value.every(isFinding) ? value : null;
  } catch {
    return null;
  }
}

function isFinding(value: unknown): value is Finding {
  if (typeof value !== "object" || value === null) return false;
  const { what, state, note }: Partial<Record<keyof Finding, unknown>> = value;
  return typeof what === "string" && typeof note === "string" && String(state) in MARKS;
}
