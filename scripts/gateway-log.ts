import { stripVTControlCharacters } from "node:util";
import { messageOf, writeLine } from "@svc/host-kit/log.ts";
import { Log, LogLevel, type WorkerdStructuredLog } from "miniflare";

const LEVELS: Record<string, string> = { log: "info", warning: "warn" };

/** What workerd says, as a line of JSON: a line of the Worker's log stays as it is, anything else is wrapped. */
export function lineOf({ timestamp, level, message }: WorkerdStructuredLog): string {
  return isLogLine(message) ? message : wrapped(timestamp, LEVELS[level] ?? level, message);
}

/** Writes what workerd says to the log. */
export function writeRuntimeOutput(output: WorkerdStructuredLog): void {
  writeLine(lineOf(output));
}

/** What Miniflare says of itself, in the same log. */
export class MiniflareLog extends Log {
  constructor() {
    super(LogLevel.WARN);
  }

  override logWithLevel(level: LogLevel, message: string): void {
    if (level > this.level) return;
    const word = level === LogLevel.ERROR ? "error" : "warn";
    writeLine(wrapped(Date.now(), word, stripVTControlCharacters(message)));
  }
}

/** A fault of the process around the Worker. */
export function writeFault(event: string, error: unknown): void {
  const time = new Date().toISOString();
  const fields = { level: "error", time, room: "gateway", event, reason: messageOf(error) };
  writeLine(JSON.stringify(fields));
}

function isLogLine(message: string): boolean {
  if (!message.startsWith("{")) return false;
  try {
    const parsed: unknown = JSON.parse(message);
    return typeof parsed === "object" && parsed !== null && "event" in parsed;
  } catch {
    return false;
  }
}

function wrapped(timestamp: number, level: string, text: string): string {
  const time = new Date(timestamp).toISOString();
  return JSON.stringify({ level, time, room: "gateway", event: "runtime_output", text });
}
