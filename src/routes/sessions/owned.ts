import { ApiError } from "@svc/contract/errors.ts";
import { readSessionId } from "@svc/contract/tokens.ts";
import type { AppContext } from "../../context.ts";

/** Forged, malformed, unknown, another org's: one answer, to the byte (document 1, Authentication 7). */
export const invalidSessionId = (): ApiError =>
  new ApiError("InvalidSessionId", "There is no such session.");

/** The `:id` of a path when it is the caller's own. Its age does not matter here. */
export async function ownedSessionId(c: AppContext): Promise<string> {
  const id = c.req.param("id") ?? "";
  const claims = await readSessionId(c.env.SVC_SIGNING_SECRET, id);
  if (claims?.org !== c.get("caller").orgId) throw invalidSessionId();
  return id;
}
