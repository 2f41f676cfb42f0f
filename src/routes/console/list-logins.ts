import type { SavedLogins } from "@svc/contract/browser/login.ts";
import { listLogins as list } from "../../../control-plane/logins.ts";
import type { Handler } from "../../context.ts";

export const listLogins: Handler = async (c) => {
  const profileId = c.req.query("profileId") ?? "";
  const logins = await list(c.env.DB, c.get("caller").orgId, profileId);
  return c.json({ logins } satisfies SavedLogins);
};
