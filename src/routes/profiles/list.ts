import * as profiles from "../../../control-plane/profiles.ts";
import type { Handler } from "../../context.ts";

export const listProfiles: Handler = async (c) =>
  c.json(await profiles.listProfiles(c.env.DB, c.get("caller").orgId));
