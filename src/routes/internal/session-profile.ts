import { ApiError } from "@svc/contract/errors.ts";
import { effectivePlan } from "@svc/contract/plans.ts";
import { readSessionId } from "@svc/contract/tokens.ts";
import { findOrg } from "../../../control-plane/orgs.ts";
import { saveProfile } from "../../../control-plane/profile-versions.ts";
import type { Handler } from "../../context.ts";
import { isLengthTold } from "../../pass-on.ts";
import { storesOf } from "../profiles/write.ts";
import { invalidSessionId } from "../sessions/owned.ts";

export const sessionProfile: Handler = async (c) => {
  const claims = await readSessionId(c.env.SVC_SIGNING_SECRET, c.req.param("id") ?? "");
  const org = claims && (await findOrg(c.env.DB, claims.org));
  if (!org) throw invalidSessionId();
  const { raw } = c.req;
  if (!raw.body || !isLengthTold(raw))
    throw new ApiError("ValidationError", "The body has no length.");
  const keeps = effectivePlan(org.plan, org.overrides).profileVersions;
  const id = c.req.param("profileId") ?? "";
  const write = { orgId: org.orgId, id, lease: null, keeps, overtakes: true } as const;
  const sizeBytes = Number(raw.headers.get("content-length"));
  await saveProfile(storesOf(c), write, { body: raw.body, sizeBytes }, Date.now());
  return c.body(null, 204);
};
