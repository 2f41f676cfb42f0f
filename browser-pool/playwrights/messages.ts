import { StorageState } from "@svc/contract/browser/storage-state.ts";
import * as z from "zod";

// A connection between the pool and a Playwright carries the CDP messages of one browser, each ended by a NUL. Between them,
// marked, go the messages of this file: one question of the pool at a time, and its answer.
const MARK = "!";
const MARK_BYTE = MARK.charCodeAt(0);

/** What the pool asks a Playwright. */
export const Question = z.union([
  /** To attach to this connection's browser, of the slot with this key. */
  z.object({ attach: z.string() }),
  /** To give the default context this state. */
  z.object({ seed: StorageState }),
  /** To know that these origins have storage in the default context. */
  z.object({ note: z.array(z.string()) }),
  /** Whether the Playwright lives. */
  z.object({ ping: z.literal(true) }),
  /** To end a customer's socket with a close frame. This one has no answer. */
  z.object({ end: z.int(), code: z.int(), reason: z.string() }),
]);
export type Question = z.infer<typeof Question>;

/** An event of a customer's socket: it has arrived, it sends, too much waits for it, no more waits for it, it has ended. */
const CustomerEvent = z.enum(["taken", "active", "full", "drained", "clean", "dropped"]);
export type CustomerEvent = z.infer<typeof CustomerEvent>;

/** Goes by the process channel, with the socket of a customer whose upgrade is to be answered. */
export const Handover = z.object({
  key: z.string(),
  client: z.int(),
  /** The number of the socket among the session's `opens`: the answer to the upgrade names it. */
  opens: z.int(),
  path: z.string(),
  headers: z.record(z.string(), z.string()),
  /** Bytes that came after the upgrade, base64. */
  head: z.string(),
});
export type Handover = z.infer<typeof Handover>;

/** An answer of the Playwright, or an event that it reports unasked. */
export const Answer = z.union([
  /** The path under which it answers clients. */
  z.object({ attached: z.string() }),
  z.object({ seeded: z.literal(true) }),
  z.object({ noted: z.literal(true) }),
  z.object({ pong: z.literal(true) }),
  /** `isUnknown`: this Playwright is built otherwise than the versions that were confined. */
  z.object({ client: z.int(), event: CustomerEvent }),
  z.object({ failed: z.string(), isUnknown: z.boolean() }),
]);
export type Answer = z.infer<typeof Answer>;

export function isControl(bytes: Buffer): boolean {
  return bytes[0] === MARK_BYTE;
}

export function controlText(message: Question | Answer): string {
  return MARK + JSON.stringify(message);
}

export function readControl(bytes: Buffer): unknown {
  return JSON.parse(bytes.toString("utf8", 1));
}

/** The longest answer: an error of Playwright may quote a call log. */
export const ANSWER_BYTES = 64 * 1024;

/** The answer in a message, null when the message is none. */
export function readAnswer(bytes: Buffer): Answer | null {
  if (bytes.length > ANSWER_BYTES) return null;
  try {
    return Answer.safeParse(readControl(bytes)).data ?? null;
  } catch {
    return null;
  }
}
