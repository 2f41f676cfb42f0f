import type { Handler } from "../../context.ts";
import { ownedSession } from "../sessions/owned.ts";
import { askedHandoff } from "./asked.ts";

export const cancelHandoff: Handler = async (c) => {
  const session = await ownedSession(c);
  const id = c.req.param("handoffId") ?? "";
  const last = await session.ask((object) => object.endHandoff(id, { as: "cancelled" }));
  await askedHandoff(c, session, last);
  return c.body(null, 204);
};
