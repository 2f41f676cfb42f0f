import { ApiError } from "@svc/contract/errors.ts";
import { storePart, storeWhole } from "../../../control-plane/objects.ts";
import type { Handler } from "../../context.ts";
import { isLengthTold } from "../../pass-on.ts";
import { invalidUrl } from "./invalid-url.ts";

export const putObject: Handler = async (c) => {
  const { OBJECTS } = c.env;
  const claims = c.get("objectUrl");
  if (claims.act !== "put" && claims.act !== "part") throw invalidUrl();
  // A stream goes to the store only with a length known before, and a part must be full.
  if (!isLengthTold(c.req.raw) || c.req.header("content-length") !== String(claims.bytes)) {
    const text = `content-length: must be ${claims.bytes}`;
    throw new ApiError("ValidationError", text, { field: "content-length" });
  }
  const body = c.req.raw.body ?? new Blob([]).stream();
  if (claims.act === "part") {
    const { etag } = await storePart(OBJECTS, claims, body);
    return c.json({ etag });
  }
  const { etag } = await storeWhole(OBJECTS, claims, body);
  return c.json({ etag });
};
