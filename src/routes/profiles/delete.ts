import * as profiles from "../../../control-plane/profiles.ts";
import type { Handler } from "../../context.ts";

export const deleteProfile: Handler = async (c) => {
  const id = c.req.param("id") ?? "";
  await profiles.deleteProfile(c.env.DB, c.get("caller").orgId, id, Date.now());
  return c.body(null, 204);
};
