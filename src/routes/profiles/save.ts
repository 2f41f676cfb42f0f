import { SaveProfile } from "@svc/contract/browser/profile.ts";
import * as profiles from "../../../control-plane/profiles.ts";
import { parseBody } from "../../body.ts";
import type { Handler } from "../../context.ts";

export const saveProfile: Handler = async (c) => {
  const { storageState } = await parseBody(c, SaveProfile);
  const stores = { db: c.env.DB, objects: c.env.OBJECTS };
  const id = c.req.param("id") ?? "";
  const state = JSON.stringify(storageState);
  const { orgId } = c.get("caller");
  return c.json(await profiles.saveProfile(stores, orgId, id, state, Date.now()));
};
