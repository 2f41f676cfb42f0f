import { InvalidArgumentError } from "commander";

/** `key=value`, gathered. */
export function pairs(text: string, before: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("Write it as key=value.");
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

/** Texts, gathered. */
export const texts = (text: string, before: string[] = []): string[] => [...before, text];

/** A whole number of 1 or more. */
export function count(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new InvalidArgumentError("It is a whole number, 1 or more.");
  return value;
}

/** `90s`, `15m`, `2h`, in milliseconds. */
export function duration(text: string): number {
  const [, value = "", unit = ""] = /^(\d+)(s|m|h)$/.exec(text) ?? [];
  const ms = { s: 1_000, m: 60_000, h: 3_600_000 }[unit];
  if (ms === undefined) throw new InvalidArgumentError("Write it as 90s, 15m or 2h.");
  return Number(value) * ms;
}

/** A TCP port. */
export function port(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > 65_535)
    throw new InvalidArgumentError("It is a number from 1 to 65535.");
  return value;
}

/** `vol_…:/path`, gathered. */
export function mounts(
  text: string,
  before: { volumeId: string; path: string }[] = [],
): { volumeId: string; path: string }[] {
  const [, volumeId, path] = /^([^:]+):(\/.+)$/.exec(text) ?? [];
  if (!volumeId || !path) throw new InvalidArgumentError("Write it as vol_…:/path.");
  return [...before, { volumeId, path }];
}
