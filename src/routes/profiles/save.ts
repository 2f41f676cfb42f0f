import { SaveProfile } from "@svc/contract/browser/profile.ts";
import { ApiError } from "@svc/contract/errors.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import * as versions from "../../../control-plane/profile-versions.ts";
import { parseBody } from "../../body.ts";
import type { Handler } from "../../context.ts";
import { storesOf, writeOf } from "./write.ts";

export const saveProfile: Handler = async (c) => {
  const { storageState, lease = null } = await parseBody(c, SaveProfile);
  const body = new TextEncoder().encode(JSON.stringify(storageState));
  const limit = LIMITS.profileSaveBodyBytes;
  // Written out again a state may be longer than it came: 1e20 has 21 digits.
  if (body.length > limit)
    throw new ApiError("PayloadTooLarge", `The state is above ${limit} bytes.`, { limit });
  const write = writeOf(c, c.req.param("id") ?? "", lease);
  const state = { body, sizeBytes: body.length };
  return c.json(await versions.saveProfile(storesOf(c), write, state, Date.now()));
};
