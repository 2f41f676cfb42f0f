import { PatchOrg } from "@svc/contract/admin/orgs.ts";
import { ApiError } from "@svc/contract/errors.ts";
import * as orgs from "../../../control-plane/orgs.ts";
import { parseBody } from "../../body.ts";
import type { Handler } from "../../context.ts";
import { forgetKeysOf } from "../../middleware/key-cache.ts";

export const patchOrg: Handler = async (c) => {
  const orgId = c.req.param("id") ?? "";
  const org = await orgs.patchOrg(c.env.DB, orgId, await parseBody(c, PatchOrg), Date.now());
  if (!org) throw new ApiError("NotFound", "There is no such org.");
  forgetKeysOf(orgId);
  return c.json(org);
};
