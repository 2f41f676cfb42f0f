import type { Handler } from "../../context.ts";
import { ownedSession } from "./owned.ts";

export const releaseSession: Handler = async (c) => {
  const session = await ownedSession(c);
  // Acked before the pool is asked: the document answers 204 even when the pool is gone.
  await session.ask((object) => object.release());
  return c.body(null, 204);
};
