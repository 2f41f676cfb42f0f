import type { Handoff } from "@svc/contract/browser/take-over.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import type { Handler } from "../../context.ts";
import { ownedSession } from "../sessions/owned.ts";
import { handoffOf } from "../sessions/record.ts";
import { askedHandoff } from "./asked.ts";

export const getHandoff: Handler = async (c) => {
  const session = await ownedSession(c);
  const id = c.req.param("handoffId") ?? "";
  const waitMs = waitOf(c.req.query("waitMs"));
  const last = await session.ask((object) => object.awaitHandoff(id, waitMs), waitMs);
  return c.json(handoffOf(await askedHandoff(c, session, last)) satisfies Handoff);
};

/** The wait that a query asks for: none when it is no number, never more than the longest. */
function waitOf(text: string | undefined): number {
  const asked = Number(text ?? 0);
  return asked > 0 ? Math.min(asked, LIMITS.handoffWaitMs) : 0;
}
