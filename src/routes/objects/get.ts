import { ApiError } from "@svc/contract/errors.ts";
import { ask } from "../../../control-plane/database.ts";
import type { Handler } from "../../context.ts";
import { invalidUrl } from "./invalid-url.ts";

/**
 * Serves an object as it is stored, or unpacked where its URL says so: a gzip file has no
 * Content-Encoding, so that no hop on the way unpacks or packs it again. One range of it where asked.
 */
export const getObject: Handler = async (c) => {
  const { OBJECTS } = c.env;
  const claims = c.get("objectUrl");
  if (claims.act !== "get") throw invalidUrl();
  const wanted = claims.unpack ? null : rangeOf(c.req.header("range"));
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

/** One range as R2 takes it; null for none, and for several or another unit, which are ignored (RFC 9110). */
function rangeOf(header: string | undefined): R2Range | null {
  const [, first = "", last = ""] = /^bytes=(\d*)-(\d*)$/.exec(header ?? "") ?? [];
  if (first === "") return last === "" ? null : { suffix: Number(last) };
  const offset = Number(first);
  if (last === "") return { offset };
  return Number(last) < offset ? null : { offset, length: Number(last) - offset + 1 };
}

function placeOf(range: R2Range, size: number): { offset: number; length: number } {
  if ("suffix" in range) {
    const length = Math.min(range.suffix, size);
    return { offset: size - length, length };
  }
  const offset = range.offset ?? 0;
  return { offset, length: Math.min(range.length ?? size, size - offset) };
}

function nothingInRange(error: unknown): never {
  if (!String(error).includes("(10039)")) throw error;
  throw new ApiError("RangeNotSatisfiable", "The object ends before this range.");
}
