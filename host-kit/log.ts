import { type Logger, destination, pino } from "pino";

export type Log = Logger;

/**
 * JSON lines on stderr: stdout belongs to the supervisor. Written at once, so that the last line of a
 * process that dies is not lost. No token, session id or URL goes into a line: an id is a capability.
 */
export function createLog(room: string, level = "info"): Log {
  return pino({ level, base: { room } }, destination({ fd: 2, sync: true }));
}

/** The text of a caught value, for a log line. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
