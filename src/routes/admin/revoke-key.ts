import { ApiError } from "@svc/contract/errors.ts";
import * as keys from "../../../control-plane/keys.ts";
import type { Handler } from "../../context.ts";
import { forgetKey } from "../../middleware/key-cache.ts";

export const revokeKey: Handler = async (c) => {
  const keyId = c.req.param("keyId") ?? "";
  if (!(await keys.revokeKey(c.env.DB, keyId, Date.now()))) {
    throw new ApiError("NotFound", "There is no such key.");
  }
  forgetKey(keyId);
  return c.body(null, 204);
};
