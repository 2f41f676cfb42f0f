import { placeOf, readRange } from "@svc/contract/byte-range.ts";
import { ApiError } from "@svc/contract/errors.ts";
import { ask } from "../../../control-plane/database.ts";
import { recordingOfKey } from "../../../control-plane/recordings.ts";
import type { Handler } from "../../context.ts";
import { invalidUrl } from "./invalid-url.ts";
import { serveRecording } from "./recording.ts";

/**
 * Serves an object as it is stored, or unpacked where its URL says so: a gzip file has no
 * Content-Encoding, so that no hop on the way unpacks or packs it again. One range of it where asked.
 */
export const getObject: Handler = async (c) => {
  const { OBJECTS } = c.env;
  const claims = c.get("objectUrl");
  if (claims.act !== "get") throw invalidUrl();
  const recording = recordingOfKey(claims.key);
  if (recording) return serveRecording(c, recording, claims.contentType);
  const wanted = claims.unpack ? null : readRange(c.req.header("range"));
  const object = await ask(OBJECTS, () =>
    OBJECTS.get(claims.key, { ...(wanted && { range: wanted }) }).catch(nothingInRange),
  );
  if (!object) throw invalidUrl();
  const headers = new Headers({
    "content-type": claims.contentType,
    "cache-control": "private, no-transform",
  });
  if (claims.unpack) {
    return new Response(object.body.pipeThrough(new DecompressionStream("gzip")), { headers });
  }
  headers.set("accept-ranges", "bytes");
  const { offset, length } = wanted
    ? placeOf(wanted, object.size)
    : { offset: 0, length: object.size };
  headers.set("content-length", String(length));
  if (!wanted) return new Response(object.body, { headers });
  headers.set("content-range", `bytes ${offset}-${offset + length - 1}/${object.size}`);
  return new Response(object.body, { status: 206, headers });
};

function nothingInRange(error: unknown): never {
  if (!String(error).includes("(10039)")) throw error;
  throw new ApiError("RangeNotSatisfiable", "The object ends before this range.");
}
