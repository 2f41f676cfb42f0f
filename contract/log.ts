/** How much a line matters, from the least. */
export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/**
 * A line of a log, as one JSON object: the same shape from the gateway and from every host, so that one reader
 * understands all of them. No key, token or signed URL stands in a line, nor an id that opens a socket.
 */
export interface LogLine {
  /** ISO 8601. */
  time: string;
  level: LogLevel;
  /** The folder of the code that says it. */
  room: string;
  /** The name of the event, in snake_case. */
  event: string;
  /** `reason` is the text of an error. */
  [field: string]: unknown;
}

/** Fields of an event beside its name. An error as `reason` becomes its text. */
export type LogFields = Partial<Record<string, unknown>> & { reason?: unknown };

/** Makes the line of an event. */
export function logLine(
  level: LogLevel,
  room: string,
  event: string,
  { reason, ...fields }: LogFields,
  now: Date,
): LogLine {
  const why = reason === undefined ? {} : { reason: textOf(reason) };
  return { time: now.toISOString(), level, room, event, ...fields, ...why };
}

const textOf = (reason: unknown): string =>
  typeof reason === "string"
    ? reason
    : reason instanceof Error
      ? String(reason)
      : JSON.stringify(reason);

/** A token of ours (a payload and its MAC) and an API key, wherever they stand: in the text of an error, in a URL. */
const CAPABILITIES = /(?<![\w-])[\w-]{20,}\.[\w-]{43}(?![\w-])|(svc_live_)\w+/g;

/** A line of a log without the tokens and keys in it. No line should have one: errors of others may quote a URL. */
export function withoutCapabilities(text: string): string {
  return text.replaceAll(CAPABILITIES, (_all, prefix: string | undefined) => `${prefix ?? ""}***`);
}

type Say = (event: string, fields?: LogFields) => void;

/** The log of a room, written to the console as lines of JSON. */
export function logOf(room: string): Record<LogLevel, Say> {
  const say =
    (level: LogLevel): Say =>
    (event, fields = {}) =>
      console[level](
        withoutCapabilities(JSON.stringify(logLine(level, room, event, fields, new Date()))),
      );
  return { debug: say("debug"), info: say("info"), warn: say("warn"), error: say("error") };
}
