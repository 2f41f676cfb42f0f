import { ApiError } from "@svc/contract/errors.ts";
import type { Handler } from "../../context.ts";

export const drainHost: Handler = async (c) => {
  const answer = await c.env.HOSTS.getByName(c.req.param("hostId") ?? "").drain();
  if (answer === "unknown") throw new ApiError("NotFound", "No such host answers.");
  return c.body(null, 202);
};
