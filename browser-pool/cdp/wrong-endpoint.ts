import { type JsonObject, isObject } from "./envelope.ts";

/** Told to Playwright's own client on the CDP endpoint. */
export const IS_CDP = "This is the CDP endpoint: use chromium.connectOverCDP(cdpEndpoint).";
/** Told to a CDP client on the endpoint of Playwright's protocol. */
export const IS_WIRE =
  "This is Playwright's endpoint: use chromium.connect(wsEndpoint), or the cdpEndpoint for CDP.";

/** Longer than the first message of any Playwright. */
const GREETING_BYTES = 4_096;

/** The reply, as Playwright's client reads one, to that client's first message; null for a message of CDP. */
export function replyToPlaywright(data: unknown): JsonObject | null {
  if (!Buffer.isBuffer(data) || data.length > GREETING_BYTES || !data.includes('"guid"'))
    return null;
  const message = objectIn(data);
  if (message?.method !== "initialize" || typeof message.guid !== "string") return null;
  return { id: message.id, error: { error: { name: "Error", message: IS_CDP } } };
}

/** The reply, as a CDP client reads one, to a message that is none of Playwright's; null for one that is. */
export function replyToCdp(message: unknown): JsonObject | null {
  if (!isObject(message) || typeof message.guid === "string") return null;
  return { id: message.id, error: { code: -32_600, message: IS_WIRE } };
}

function objectIn(data: Buffer): JsonObject | null {
  try {
    const value: unknown = JSON.parse(data.toString());
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
