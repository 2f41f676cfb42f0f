import type { SlotDiscovery } from "@svc/contract/host-protocol/slots.ts";
import { noteFault } from "../host-calls/fault.ts";
import { discoverSlot } from "../host-calls/slots.ts";
import type { LiveSession } from "./record.ts";
import { openSession } from "./upgrade.ts";

/** What a session's browser says of itself, or why it is not asked, as of an upgrade. */
export type DiscoverAnswer =
  | { found: SlotDiscovery }
  | { refused: { status: 404 | 502; text: string } };

const NO_ANSWER = "The session's browser pool did not answer. Try again.";

/** Asks the session's host which browser and targets it has. */
export async function discover(live: LiveSession): Promise<DiscoverAnswer> {
  const open = await openSession(live);
  if ("refused" in open) return { refused: { status: 404, text: open.refused } };
  const { session, place } = open;
  try {
    const found = await discoverSlot(live.env, place.url, session);
    return found ? { found } : { refused: { status: 404, text: "No such session." } };
  } catch (error) {
    noteFault("GET /cdp/:id", error);
    return { refused: { status: 502, text: NO_ANSWER } };
  }
}
