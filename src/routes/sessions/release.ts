import type { Handler } from "../../context.ts";
import { invalidSessionId, ownedSessionId } from "./owned.ts";

export const releaseSession: Handler = async (c) => {
  const id = await ownedSessionId(c);
  // Acked before the pool is asked: the document answers 204 even when the pool is gone.
  if (!(await c.env.SESSIONS.getByName(id).release())) throw invalidSessionId();
  return c.body(null, 204);
};
