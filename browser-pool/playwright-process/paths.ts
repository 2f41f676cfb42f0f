import { isObject } from "../cdp/envelope.ts";

/** Stands for a path of this host. */
const HIDDEN = "<service>";

/**
 * Makes messages to clients fit for strangers: errors quote files, and the places in Playwright where they arose; a
 * download or a video is announced with its path. `folders`: all that lies in them is this host's alone.
 */
export function hiding(folders: string[]): (message: unknown) => unknown {
  const path = new RegExp(`(?:${folders.map(escaped).join("|")})[^\\s'"\`()<>\\]:,]*`, "g");
  const clean = (text: string): string => text.replace(path, HIDDEN);
  return (message) => {
    if (!isObject(message)) return message;
    if (message.method === "__create__") return withoutPath(message);
    if (message.error === undefined) return message;
    return { ...message, error: deeply(message.error, clean), log: deeply(message.log, clean) };
  };
}

function withoutPath(message: Record<string, unknown>): unknown {
  const { params } = message;
  if (!isObject(params) || !isObject(params.initializer)) return message;
  if (typeof params.initializer.absolutePath !== "string") return message;
  const initializer = { ...params.initializer, absolutePath: "" };
  return { ...message, params: { ...params, initializer } };
}

/** The same value with every text in it changed. */
function deeply(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((item) => deeply(item, change));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, held]) => [key, deeply(held, change)]),
  );
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
