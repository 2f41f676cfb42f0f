import { RestoreProfile } from "@svc/contract/browser/profile.ts";
import * as versions from "../../../control-plane/profile-versions.ts";
import { parseBody } from "../../body.ts";
import type { Handler } from "../../context.ts";
import { writeOf } from "./write.ts";

export const restoreProfile: Handler = async (c) => {
  const { version, lease = null } = await parseBody(c, RestoreProfile);
  const write = writeOf(c, c.req.param("id") ?? "", lease);
  return c.json(await versions.restoreProfile(c.env.DB, write, version, Date.now()));
};
