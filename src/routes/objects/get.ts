import { ApiError } from "@svc/contract/errors.ts";
import { readObjectToken } from "@svc/contract/tokens.ts";
import { ask } from "../../../control-plane/database.ts";
import type { Handler } from "../../context.ts";

/**
 * Serves an object as it is stored, or unpacked where its URL says so: a gzip file has no
 * Content-Encoding, so that no hop on the way unpacks or packs it again.
 */
export const getObject: Handler = async (c) => {
  const { OBJECTS, SVC_SIGNING_SECRET } = c.env;
  const token = c.req.param("token") ?? "";
  const claims = await readObjectToken(SVC_SIGNING_SECRET, token, Date.now());
  const object = claims && (await ask(OBJECTS, () => OBJECTS.get(claims.key)));
  if (!object) throw new ApiError("ObjectNotFound", "The URL is not valid any more.");
  const headers = {
    "content-type": claims.contentType,
    "cache-control": "private, no-transform",
  };
  if (claims.unpack) {
    return new Response(object.body.pipeThrough(new DecompressionStream("gzip")), { headers });
  }
  const length = { "content-length": String(object.size) };
  return new Response(object.body, { headers: { ...headers, ...length } });
};
