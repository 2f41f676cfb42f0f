import { ApiError } from "@svc/contract/errors.ts";
import type { MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { AppEnv } from "../context.ts";

/** How much of a body that is too large is still read, in caps. */
const PATIENCE = 16;

/** 413 above `bytes`: from the header before the body is read, and from the stream once it passes the cap. */
export function bodyCap(bytes: number): MiddlewareHandler<AppEnv> {
  return bodyLimit({
    maxSize: bytes,
    onError: (c) => {
      // A client that is still sending would see a broken connection instead of the answer.
      c.executionCtx.waitUntil(readOff(c.req.raw.body, bytes * PATIENCE));
      throw new ApiError("PayloadTooLarge", `The body is above ${bytes} bytes.`, { limit: bytes });
    },
  });
}

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
