import { isatty } from "node:tty";
import { LOG_LEVELS, withoutCapabilities } from "@svc/contract/log.ts";
import { type Logger, destination, pino } from "pino";
import * as z from "zod";
import { readable } from "./log-line.ts";
import { optionalSetting } from "./settings.ts";

export type Log = Logger;

/** Where lines of logs go. stdout belongs to what `npm start` tells: the banner and `ready`. */
const STDERR = 2;

/** How every program of this project writes its log. */
export const LOG_FORMAT = optionalSetting({
  name: "SVC_LOG",
  defaultMeaning: "lines for a person at a terminal, JSON elsewhere",
  meaning: "`json`: log lines are JSON at a terminal, too.",
  schema: z.string(),
});

const Line = z.looseObject({
  time: z.string().default(""),
  level: z.enum(LOG_LEVELS).catch("info"),
  room: z.string().default(""),
  event: z.string().default(""),
});

/**
 * Writes one line of JSON for each call: `{"level":"info","time":"2026-…","room":"vm-host","event":"machine_resumed"}`. At a
 * terminal the line is written for a person. Called as `log.info({ machine }, "machine_resumed")`; the text of an
 * error is the field `reason`. No token, session id or URL goes into a line: an id is a capability.
 */
export function createLog(room: string, level = "info"): Log {
  const shape = {
    level,
    base: { room },
    messageKey: "event",
    formatters: { level: (word: string) => ({ level: word }) },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
  };
  return pino(shape, { write: writeLine });
}

// Written at once, so that the last line of a process that dies is not lost.
const stderr = destination({ fd: STDERR, sync: true });

/** Writes a line of JSON to stderr, without tokens and keys; for a person when stderr is a terminal. */
export function writeLine(json: string): void {
  const line = withoutCapabilities(json);
  stderr.write(isForPerson ? `${forPerson(line)}\n` : `${line.trimEnd()}\n`);
}

const isForPerson = LOG_FORMAT.read(process.env["SVC_LOG"]) !== "json" && isatty(STDERR);
const isColoured = !process.env["NO_COLOR"];

function forPerson(json: string): string {
  return readable(Line.parse(JSON.parse(json)), isColoured);
}

/** The text of a caught value, for a log line. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
