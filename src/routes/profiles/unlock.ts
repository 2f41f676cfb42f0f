import { UnlockProfile } from "@svc/contract/browser/profile.ts";
import * as locks from "../../../control-plane/profile-locks.ts";
import { parseBody } from "../../body.ts";
import type { Handler } from "../../context.ts";

export const unlockProfile: Handler = async (c) => {
  const { lease } = await parseBody(c, UnlockProfile);
  const editor = { orgId: c.get("caller").orgId, id: c.req.param("id") ?? "", lease };
  await locks.unlockProfile(c.env.DB, editor, Date.now());
  return c.body(null, 204);
};
