import { SaveProfile } from "@svc/contract/browser/profile.ts";
import { ApiError } from "@svc/contract/errors.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import * as profiles from "../../../control-plane/profiles.ts";
import { parseBody } from "../../body.ts";
import type { Handler } from "../../context.ts";

export const saveProfile: Handler = async (c) => {
  const { storageState } = await parseBody(c, SaveProfile);
  const stores = { db: c.env.DB, objects: c.env.OBJECTS };
  const id = c.req.param("id") ?? "";
  const state = new TextEncoder().encode(JSON.stringify(storageState));
  const limit = LIMITS.profileSaveBodyBytes;
  // Written out again a state may be longer than it came: 1e20 has 21 digits.
  if (state.length > limit)
    throw new ApiError("PayloadTooLarge", `The state is above ${limit} bytes.`, { limit });
  const { orgId } = c.get("caller");
  return c.json(await profiles.saveProfile(stores, orgId, id, state, Date.now()));
};
