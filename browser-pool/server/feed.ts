import { OpenFeed } from "@svc/contract/host-protocol/feed.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { messageOf } from "@svc/host-kit/log.ts";
import { readJson, replyText } from "@svc/host-kit/reply.ts";
import type { SlotCall } from "./call.ts";

/** POST /slots/:sessionId/feed. Answered once the gateway has the feed. */
export async function openFeed(call: SlotCall): Promise<void> {
  const { sessions, feeds, log, id, request, response } = call;
  const read = OpenFeed.safeParse(await readJson(request, LIMITS.hostBodyBytes));
  if (!read.success) return replyText(response, 400, "Malformed feed\n");
  const session = sessions.get(id);
  if (!session) return replyText(response, 404, "No such session\n");
  try {
    await feeds.open(session, read.data.ticket);
    replyText(response, 204);
  } catch (error) {
    log.warn({ slot: session.slot.number, reason: messageOf(error) }, "feed_not_opened");
    replyText(response, 502, "The feed could not be opened\n");
  }
}
