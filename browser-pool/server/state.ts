import { STATE_LOST_HEADER } from "@svc/contract/host-protocol/slots.ts";
import { replyText } from "@svc/host-kit/reply.ts";
import { TooLarge } from "../profiles/read.ts";
import type { SlotCall } from "./call.ts";
import { reasonOf } from "../profiles/short-reason.ts";

/** POST /slots/:sessionId/state: the storage state of the browser as it is now. */
export async function readState({ sessions, log, id, response }: SlotCall): Promise<void> {
  const slot = sessions.get(id)?.slot;
  if (!slot) return replyText(response, 404, "No such session\n");
  try {
    const { bytes, lost } = await slot.state.read();
    if (lost > 0) log.warn({ slot: slot.number, lost }, "profile_partly_read");
    response.writeHead(200, {
      "content-type": "application/json",
      "content-length": String(bytes.length),
      [STATE_LOST_HEADER]: String(lost),
    });
    response.end(bytes);
  } catch (error) {
    if (error instanceof TooLarge) return replyText(response, 413, "The state is too large\n");
    if (!sessions.get(id)) return replyText(response, 404, "No such session\n");
    log.warn({ slot: slot.number, reason: reasonOf(error) }, "profile_not_read");
    replyText(response, 502, "The browser did not tell its state\n");
  }
}
