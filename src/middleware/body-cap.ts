import { ApiError } from "@svc/contract/errors.ts";
import type { MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { AppEnv } from "../context.ts";

/** How much of a body that is too large is still read, in caps, and in bytes beyond the cap. */
const PATIENCE = 16;
const PATIENCE_BYTES = 16 * 1024 * 1024;

export const tooLarge = (bytes: number): ApiError =>
  new ApiError("PayloadTooLarge", `The body is above ${bytes} bytes.`, { limit: bytes });

/** 413 above `bytes`: from the header before the body is read, and from the stream once it passes the cap. */
export function bodyCap(bytes: number): MiddlewareHandler<AppEnv> {
  return bodyLimit({
    maxSize: bytes,
    onError: (c) => {
      // A client that is still sending would see a broken connection instead of the answer.
      c.executionCtx.waitUntil(readOff(c.req.raw.body, beyond(bytes)));
      throw tooLarge(bytes);
    },
  });
}

/** The same from the header alone: a body that is passed on as it comes is counted on its way (capStream). */
export function rawBodyCap(bytes: number): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const { raw } = c.req;
    if (isLengthTold(raw) && Number(raw.headers.get("content-length")) > bytes) {
      c.executionCtx.waitUntil(readOff(raw.body, beyond(bytes)));
      throw tooLarge(bytes);
    }
    await next();
  };
}

/** Whether the length of a body is known before it is read. */
export function isLengthTold({ headers }: Request): boolean {
  return headers.has("content-length") && !headers.has("transfer-encoding");
}

/**
 * A body whose length nobody told, to be sent on by `call`. Above the cap, or when it is cut, `call` is
 * aborted: a stream that errors would end the sent body as if it were whole.
 */
export function capStream(
  body: ReadableStream<Uint8Array>,
  bytes: number,
  call: AbortController,
): { readable: ReadableStream<Uint8Array>; done: Promise<void>; isOver(): boolean } {
  const { readable, writable } = new IdentityTransformStream();
  let left = bytes;
  const pass = async (): Promise<void> => {
    const reader = body.getReader();
    const writer = writable.getWriter();
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return await writer.close();
        left -= value.byteLength;
        if (left < 0) break;
        await writer.write(value);
      }
      call.abort();
      reader.releaseLock();
      await readOff(body, beyond(bytes) - bytes);
    } catch {
      call.abort();
    }
  };
  return { readable, done: pass(), isOver: () => left < 0 };
}

const beyond = (bytes: number): number => Math.min(bytes * PATIENCE, bytes + PATIENCE_BYTES);

/** Reads a body to its end, or `atMost` bytes of it, and drops them. */
async function readOff(body: ReadableStream<Uint8Array> | null, atMost: number): Promise<void> {
  if (!body || body.locked) return;
  const reader = body.getReader();
  try {
    for (let left = atMost; left > 0;) {
      const { done, value } = await reader.read();
      if (done) return;
      left -= value.byteLength;
    }
    await reader.cancel();
  } catch {
    // The client has gone: nobody waits for the answer.
  }
}
