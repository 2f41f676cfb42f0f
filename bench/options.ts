import { parseArgs } from "node:util";
import { BrowserKind } from "@svc/contract/browser/session.ts";

/** What the command line of a bench says; what it does not say is null. */
export interface Options {
  /** What stands without a dash: the bench's name and its number, if any. */
  words: string[];
  n: number | null;
  kills: number | null;
  seed: number | null;
  /** Whether sessions are recorded. */
  recording: boolean;
  /** Measure only what must lie idle for minutes. */
  idle: boolean;
  /** Whether sessions have network rules. */
  rules: boolean;
  /** The kind of the browsers. */
  kind: BrowserKind;
  /** Where the results are written as JSON. */
  json: string | null;
}

export function readOptions(args: string[]): Options {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      n: { type: "string" },
      kills: { type: "string" },
      seed: { type: "string" },
      json: { type: "string" },
      idle: { type: "boolean" },
      recording: { type: "boolean" },
      kind: { type: "string" },
      rules: { type: "boolean" },
    },
  });
  return {
    words: positionals,
    n: count("n", values.n),
    kills: count("kills", values.kills),
    seed: count("seed", values.seed),
    kind: BrowserKind.parse(values.kind ?? "fast"),
    json: values.json ?? null,
    idle: values.idle ?? false,
    recording: values.recording ?? false,
    rules: values.rules ?? false,
  };
}

function count(name: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) throw new Error(`--${name} wants a count`);
  return value;
}
