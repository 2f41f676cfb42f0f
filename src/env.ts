import { LIMITS } from "@svc/contract/limits.ts";
import * as z from "zod";

const milliseconds = z.coerce.number().int().nonnegative();

/** How long a create waits for a slot, in ms: SVC_ACQUIRE_TIMEOUT_MS, or 30 s. */
export function acquireTimeoutMs(env: Env): number {
  const text = env.SVC_ACQUIRE_TIMEOUT_MS;
  return text ? milliseconds.parse(text) : LIMITS.acquireTimeoutMs;
}
