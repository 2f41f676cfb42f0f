import { ReplayUrl } from "@svc/contract/browser/replay.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import * as z from "zod";

const encoding = ReplayUrl.shape.contentEncoding.default("gzip");
const milliseconds = z.coerce.number().int().nonnegative();

/** How long a create waits for a slot, in ms: SVC_ACQUIRE_TIMEOUT_MS, or 30 s. */
export function acquireTimeoutMs(env: Env): number {
  const text = env.SVC_ACQUIRE_TIMEOUT_MS;
  return text ? milliseconds.parse(text) : LIMITS.acquireTimeoutMs;
}

/** How replays are served: SVC_REPLAY_ENCODING, or `gzip`. */
export function replayEncoding(env: Env): ReplayUrl["contentEncoding"] {
  return encoding.parse(env.SVC_REPLAY_ENCODING || undefined);
}

/** The domain under whose names previews are served: SVC_PREVIEW_DOMAIN; null when there are none. */
export function previewDomain(env: Env): string | null {
  return env.SVC_PREVIEW_DOMAIN?.toLowerCase() || null;
}
