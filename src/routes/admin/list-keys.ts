import { ApiError } from "@svc/contract/errors.ts";
import * as keys from "../../../control-plane/keys.ts";
import { findOrg } from "../../../control-plane/orgs.ts";
import type { Handler } from "../../context.ts";

export const listKeys: Handler = async (c) => {
  const orgId = c.req.param("id") ?? "";
  if (!(await findOrg(c.env.DB, orgId))) throw new ApiError("NotFound", "There is no such org.");
  return c.json({ keys: await keys.listKeys(c.env.DB, orgId) });
};
