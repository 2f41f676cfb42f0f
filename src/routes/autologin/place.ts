import { ApiError } from "@svc/contract/errors.ts";
import { accepted } from "../../accepted.ts";
import type { AppContext } from "../../context.ts";
import { type OwnedSession, invalidSessionId } from "../sessions/owned.ts";

/** The profile whose logins a session has: the one that it began with. Throws NoProfile. */
export async function profileOf(c: AppContext, session: OwnedSession) {
  const found = await session.ask((object) => object.locate());
  if (!found) throw invalidSessionId();
  const { profileId } = accepted(found);
  if (profileId !== null) return { orgId: c.get("caller").orgId, profileId };
  const text =
    "The session began without a profile, and saved logins belong to one. Create a session with profileId.";
  throw new ApiError("NoProfile", text);
}
