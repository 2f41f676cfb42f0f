import { ApiError } from "@svc/contract/errors.ts";
import { storePart, storeWhole } from "../../../control-plane/objects.ts";
import { whileSending } from "../../client-gone.ts";
import type { Handler } from "../../context.ts";
import { isLengthTold, passOn } from "../../pass-on.ts";
import { invalidUrl } from "./invalid-url.ts";
import { noteVolume } from "./volume-bytes.ts";

export const putObject: Handler = async (c) => {
  const { OBJECTS } = c.env;
  const claims = c.get("objectUrl");
  if (claims.act !== "put" && claims.act !== "part") throw invalidUrl();
  // A stream goes to the store only with a length known before, and a part must be full.
  if (!isLengthTold(c.req.raw) || c.req.header("content-length") !== String(claims.bytes)) {
    const text = `content-length: must be ${claims.bytes}`;
    throw new ApiError("ValidationError", text, { field: "content-length" });
  }
  const sent = passOn(c.req.raw);
  const body = sent.body ?? new Blob([]).stream();
  const storing: Promise<{ etag: string }> =
    claims.act === "part" ? storePart(OBJECTS, claims, body) : storeWhole(OBJECTS, claims, body);
  const { etag } = await whileSending(c, sent, storing);
  if (claims.act === "put") await noteVolume(c.env, claims.key);
  return c.json({ etag });
};
