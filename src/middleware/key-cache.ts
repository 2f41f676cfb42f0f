import { LIMITS } from "@svc/contract/limits.ts";
import { isRecent } from "@svc/contract/time.ts";
import type { KeyHolder } from "../../control-plane/keys.ts";

const capacity = 10_000;

/** The one thing a Worker keeps: keys that were verified within the last 60 s, per isolate. */
const verified = new Map<string, { holder: KeyHolder; at: number }>();

/** Until when a look-up may still bring back a key that was revoked here. */
const revoked = new Map<string, number>();

export function recallKey(keyId: string, now: number): KeyHolder | null {
  const entry = verified.get(keyId);
  return entry && isRecent(entry.at, LIMITS.bearerCacheMs, now) ? entry.holder : null;
}

export function rememberKey(holder: KeyHolder, now: number): void {
  if (now < (revoked.get(holder.keyId) ?? 0)) return;
  // Insertion order is age: the oldest go first.
  verified.delete(holder.keyId);
  for (const oldest of verified.keys()) {
    if (verified.size < capacity) break;
    verified.delete(oldest);
  }
  verified.set(holder.keyId, { holder, at: now });
}

/** When keys were looked for in vain. */
const unknown = new Map<string, number>();

/** Whether a key was looked for in vain a moment ago: a guesser does not reach the database each time. */
export function isKnownUnknown(keyId: string, now: number): boolean {
  return isRecent(unknown.get(keyId) ?? -Infinity, LIMITS.unknownKeyMs, now);
}

export function rememberUnknown(keyId: string, now: number): void {
  if (unknown.size >= capacity) unknown.clear();
  unknown.set(keyId, now);
}

/** Makes a revoked key fail at once on this replica. */
export function forgetKey(keyId: string): void {
  verified.delete(keyId);
  // A look-up that was under way must not bring it back.
  revoked.set(keyId, Date.now() + LIMITS.bearerCacheMs);
}

/** Makes a changed plan count at once on this replica. */
export function forgetKeysOf(orgId: string): void {
  for (const [keyId, { holder }] of verified) if (holder.orgId === orgId) verified.delete(keyId);
}
