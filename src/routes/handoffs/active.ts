import { ApiError } from "@svc/contract/errors.ts";
import type { Handoff } from "../../../durable-objects/session/handoff.ts";

/** The refusal while somebody else has the session, or is to have it. */
export function handoffActive({ id, kind, expiresAt }: Handoff): ApiError {
  const until = new Date(expiresAt).toISOString();
  const text =
    kind === "autologin"
      ? `The service is signing in for this session, until ${until} at most. Wait for it.`
      : `A person has this session, or is to come for it, until ${until} (${id}). Wait for them, or cancel the hand-off.`;
  return new ApiError("HandoffActive", text);
}
