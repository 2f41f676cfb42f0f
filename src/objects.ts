import { ApiError } from "@svc/contract/errors.ts";
import { logOf } from "@svc/contract/log.ts";

const log = logOf("src");

/** Asks a Durable Object. An object that throws or cannot be reached is a passing fault: 503, try again. */
export async function reach<P>(call: () => P): Promise<Awaited<P>> {
  try {
    return await call();
  } catch (error) {
    log.error("object_failed", { reason: error });
    throw new ApiError("ObjectUnavailable", "A part of the service is restarting. Try again.");
  }
}
