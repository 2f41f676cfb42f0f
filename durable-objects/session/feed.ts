import type { FeedAnswer } from "../host-calls/feed-answer.ts";
import { openSlotFeed } from "../host-calls/slots.ts";
import type { LiveSession } from "./record.ts";
import { openSession } from "./upgrade.ts";
import { isWaiting } from "./view.ts";

const NOT_OPENED = "The session's browser pool did not open the observer stream. Try again.";

/** Has the session's pool dial in with what the browser shows. Waits for the pool to be registered. */
export async function openFeed(live: LiveSession, ticket: string): Promise<FeedAnswer> {
  const open = await openSession(live);
  if ("refused" in open) {
    const session = live.record.load();
    const why = session && isWaiting(session) ? "away" : "ended";
    return { refused: { why, text: open.refused } };
  }
  const { session, place } = open;
  const isOpened = await openSlotFeed(live.env, place.url, session, { ticket });
  return isOpened ? { kind: session.kind } : { refused: { why: "failed", text: NOT_OPENED } };
}
