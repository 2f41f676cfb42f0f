import { ApiError } from "@svc/contract/errors.ts";
import type { MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { AppEnv } from "../context.ts";

/** Refuses a body above an operation's cap: by its Content-Length before reading, else once it passes the cap. */
export function bodyCap(bytes: number): MiddlewareHandler<AppEnv> {
  return bodyLimit({
    maxSize: bytes,
    onError: () => {
      throw new ApiError("PayloadTooLarge", `The body is above ${bytes} bytes.`, { limit: bytes });
    },
  });
}
