import { ApiError } from "@svc/contract/errors.ts";
import type { Operation } from "@svc/contract/operations/operation.ts";
import type { MiddlewareHandler } from "hono";
import { fromClient } from "../client-gone.ts";
import type { AppEnv } from "../context.ts";
import { eachChunk, isLengthTold } from "../pass-on.ts";

export const tooLarge = (bytes: number): ApiError =>
  new ApiError("PayloadTooLarge", `The body is above ${bytes} bytes.`, { limit: bytes });

/**
 * 413 above an operation's cap: from the header before the body is read, and from the stream once it passes the cap. A
 * body that is passed on as it comes is counted on its way (passOn), and that of a GET is never read.
 */
export function bodyCap(
  op: Pick<Operation, "method" | "isRaw" | "ignoresBody" | "bodyBytes">,
): MiddlewareHandler<AppEnv> {
  const { method, isRaw, ignoresBody, bodyBytes } = op;
  if (ignoresBody) return (_c, next) => next();
  const isRead = !isRaw && method !== "GET";
  return async (c, next) => {
    const { raw } = c.req;
    const { body } = raw;
    if (isLengthTold(raw)) {
      if (Number(raw.headers.get("content-length")) > bodyBytes) throw tooLarge(bodyBytes);
    } else if (isRead && body) {
      const all = await fromClient(c, () => whole(body, bodyBytes));
      c.req.raw = new Request(raw, { method: raw.method, body: all });
    }
    await next();
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
