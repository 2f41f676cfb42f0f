import { ApiError } from "@svc/contract/errors.ts";
import type { Handler } from "../../context.ts";
import { reach } from "../../objects.ts";

export const drainHost: Handler = async (c) => {
  const host = c.env.HOSTS.getByName(c.req.param("hostId") ?? "");
  const answer = await reach(() => host.drain());
  if (answer === "unknown") throw new ApiError("NotFound", "There is no such host.");
  if (answer === "silent") throw new ApiError("PoolUnreachable", "The host does not answer.");
  return c.body(null, 202);
};
