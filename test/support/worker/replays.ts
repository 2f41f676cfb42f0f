import { mintSessionId } from "@svc/contract/tokens.ts";
import { call, json, newOrg } from "./gateway.ts";
import { HOST_TOKEN, SIGNING_SECRET } from "../secrets.ts";

const AGED = 100 * 60_000;

/** A session id of an org, what a host reports of its recording, and the URL of its replay. */
export async function ownSession() {
  const { key, orgId } = await newOrg();
  // Older than any socket URL may be: this route does not look at the age.
  const id = await mintSessionId(SIGNING_SECRET, { org: orgId, issuedAt: Date.now() - AGED });
  const report = (body: unknown, bearer = HOST_TOKEN) =>
    call(`/internal/sessions/${id}/recording`, { ...json(body), bearer });
  const replay = (bearer = key) => call(`/sessions/${id}/replay-url`, { bearer });
  return { id, orgId, key, report, replay };
}
