import { LIMITS } from "@svc/contract/limits.ts";
import type { KeyHolder } from "../../control-plane/keys.ts";

const capacity = 10_000;

/** The one thing a Worker keeps: keys that were verified within the last 60 s, per isolate. */
const verified = new Map<string, { holder: KeyHolder; until: number }>();

export function recallKey(keyId: string, now: number): KeyHolder | null {
  const entry = verified.get(keyId);
  return entry && now < entry.until ? entry.holder : null;
}

export function rememberKey(holder: KeyHolder, now: number): void {
  // Insertion order is age: the oldest go first.
  verified.delete(holder.keyId);
  for (const oldest of verified.keys()) {
    if (verified.size < capacity) break;
    verified.delete(oldest);
  }
  verified.set(holder.keyId, { holder, until: now + LIMITS.bearerCacheMs });
}

/** Makes a revoked key fail at once on this replica. */
export function forgetKey(keyId: string): void {
  verified.delete(keyId);
}

/** Makes a changed plan count at once on this replica. */
export function forgetKeysOf(orgId: string): void {
  for (const [keyId, { holder }] of verified) if (holder.orgId === orgId) verified.delete(keyId);
}
