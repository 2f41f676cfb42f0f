import { isOpen } from "../../../durable-objects/session/handoff.ts";
import type { Handler } from "../../context.ts";
import { ownedSession } from "../sessions/owned.ts";
import { handoffActive } from "./active.ts";
import { askedHandoff } from "./asked.ts";

export const cancelHandoff: Handler = async (c) => {
  const session = await ownedSession(c);
  const id = c.req.param("handoffId") ?? "";
  const asked = await askedHandoff(c, session, await session.ask((o) => o.awaitHandoff(id, 0)));
  // The service itself gives the session back, once what it has typed is gone from the page.
  if (asked.kind === "autologin" && isOpen(asked)) throw handoffActive(asked);
  await session.ask((object) => object.endHandoff(id, { as: "cancelled" }));
  return c.body(null, 204);
};
