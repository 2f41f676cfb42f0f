import { ApiError } from "@svc/contract/errors.ts";
import type { Operation } from "@svc/contract/operations/operation.ts";
import type { MiddlewareHandler } from "hono";
import { fromClient } from "../client-gone.ts";
import type { AppEnv } from "../context.ts";
import { eachChunk, isLengthTold } from "../pass-on.ts";

export const tooLarge = (bytes: number): ApiError =>
  new ApiError("PayloadTooLarge", `The body is above ${bytes} bytes.`, { limit: bytes });

/** The cap of an operation's body. */
export function capOf({ bodyBytes, isRaw, ignoresBody }: Operation): MiddlewareHandler<AppEnv> {
  if (ignoresBody) return (_c, next) => next();
  return isRaw ? rawBodyCap(bodyBytes) : bodyCap(bodyBytes);
}

/** 413 from the header alone: a body that is passed on as it comes is counted on its way (passOn). */
export function rawBodyCap(bytes: number): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const { raw } = c.req;
    if (isLengthTold(raw) && Number(raw.headers.get("content-length")) > bytes)
      throw tooLarge(bytes);
    await next();
  };
}

/** 413 above `bytes`: from the header before the body is read, and from the stream once it passes the cap. */
export function bodyCap(bytes: number): MiddlewareHandler<AppEnv> {
  const byHeader = rawBodyCap(bytes);
  return async (c, next) => {
    const { raw } = c.req;
    const { body } = raw;
    if (body && !isLengthTold(raw)) {
      const all = await fromClient(c, () => whole(body, bytes));
      c.req.raw = new Request(raw, { method: raw.method, body: all });
    }
    await byHeader(c, next);
  };
}

/** A body of unknown length, read to its end. A body above the cap is read no further than that. */
async function whole(body: ReadableStream<Uint8Array>, bytes: number): Promise<Blob> {
  const parts: Uint8Array[] = [];
  let left = bytes;
  await eachChunk(body, async (chunk) => {
    left -= chunk.byteLength;
    if (left < 0) throw tooLarge(bytes);
    parts.push(chunk.slice());
    return true;
  });
  return new Blob(parts);
}
