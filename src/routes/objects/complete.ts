import { ApiError } from "@svc/contract/errors.ts";
import { CompleteObject } from "@svc/contract/host-protocol/objects.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { completeUpload } from "../../../control-plane/objects.ts";
import { parseBody } from "../../body.ts";
import type { Handler } from "../../context.ts";
import { invalidUrl } from "./invalid-url.ts";

export const completeObject: Handler = async (c) => {
  const claims = c.get("objectUrl");
  if (claims.act !== "complete") throw invalidUrl();
  const { etags } = await parseBody(c, CompleteObject);
  const count = Math.ceil(claims.bytes / LIMITS.objectPartBytes);
  if (etags.length !== count) {
    throw new ApiError("ValidationError", `etags: must be ${count}`, { field: "etags" });
  }
  const parts = etags.map((etag, at) => ({ partNumber: at + 1, etag }));
  const { etag } = await completeUpload(c.env.OBJECTS, claims, parts);
  return c.json({ etag });
};
