import { LIMITS } from "@svc/contract/limits.ts";
import { openSegments } from "../control-plane/usage.ts";
import { logOf } from "@svc/contract/log.ts";

const log = logOf("src");
const MOST_AT_ONCE = 50;

/**
 * Looks at the owners of some segments that have been open for long. An owner that has ended and owes the end of its
 * segment sets its alarm at each look: so nothing is billed for ever should an alarm be lost.
 */
export async function lookAtOpenSegments(env: Env, now: number): Promise<void> {
  const segments = await openSegments(env.DB, now - LIMITS.openSegmentMs, MOST_AT_ONCE);
  const looks = segments.map(async ({ id, kind }) => {
    if (kind === "browser") return env.SESSIONS.getByName(id).read();
    // A machine's segment has the number of its span after the id.
    const [sandbox = ""] = id.split(" ");
    return env.SANDBOXES.getByName(sandbox).look();
  });
  for (const look of await Promise.allSettled(looks))
    if (look.status === "rejected") log.warn("owner_not_seen", { reason: look.reason });
}
