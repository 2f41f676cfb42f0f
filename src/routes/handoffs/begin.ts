import { BeginHandoff, type HandoffBegun } from "@svc/contract/browser/handoff.ts";
import { HANDOFF_SECONDS } from "@svc/contract/browser/take-over.ts";
import { newHandoffId } from "@svc/contract/ids.ts";
import { parseBody } from "../../body.ts";
import type { Handler } from "../../context.ts";
import { ownedSession } from "../sessions/owned.ts";
import { handoffOf } from "../sessions/record.ts";
import { handoffActive } from "./active.ts";
import { liveUrlOf } from "./live-url.ts";
import { openHandoff } from "./open.ts";

const SECOND_MS = 1_000;

export const beginHandoff: Handler = async (c) => {
  const session = await ownedSession(c);
  const { timeoutSeconds = HANDOFF_SECONDS.usual, ...wish } = await parseBody(c, BeginHandoff);
  const id = newHandoffId();
  const lastsMs = timeoutSeconds * SECOND_MS;
  const handoff = await openHandoff(session, id, lastsMs, wish);
  if (handoff.id !== id) throw handoffActive(handoff);
  const body = { handoff: handoffOf(handoff), liveUrl: await liveUrlOf(c, handoff) };
  return c.json(body satisfies HandoffBegun, 201);
};
