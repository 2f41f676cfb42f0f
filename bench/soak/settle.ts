import { setTimeout as pause } from "node:timers/promises";
import { LIMITS } from "@svc/contract/limits.ts";
import { type Inventory, type Place, leftOver, takeInventory } from "./inventory.ts";

const LOOK_MS = 1_000;
/** Longer than the longest life of a session without a client, and of what workerd keeps open for it. */
const LIMIT_MS = LIMITS.orphanGraceMs + 120_000;
/** Longer than workerd keeps an object that nobody asks. */
const SAME_LOOKS = 20;

/** Waits until nothing is there that was not there before; gives the last look when that never comes. */
export async function settle(place: Place, before: Inventory): Promise<Inventory> {
  const deadline = performance.now() + LIMIT_MS;
  let seen: Inventory = {};
  while (performance.now() < deadline) {
    const look = await takeInventory(place).catch(() => null);
    if (look) seen = look;
    if (look && Object.values(leftOver(before, look)).every((count) => count === 0)) return look;
    await pause(LOOK_MS);
  }
  return seen;
}

/** A look that came several times in a row, give or take the tolerances: a service at rest. */
export async function atRest(place: Place): Promise<Inventory> {
  const deadline = performance.now() + LIMIT_MS;
  let last: Inventory = {};
  let same = 0;
  while (performance.now() < deadline) {
    const look = await takeInventory(place).catch(() => null);
    same = look && isAlike(last, look) ? same + 1 : 0;
    last = look ?? {};
    if (same >= SAME_LOOKS && HELD.every((name) => last[name] === 0)) return last;
    await pause(LOOK_MS);
  }
  throw new Error(`the service does not come to rest: ${JSON.stringify(last)}`);
}

/** What a service at rest has none of. */
const HELD = ["slots: busy", "slots: recycling", "sessions: active", "sessions: unknown"] as const;

function isAlike(one: Inventory, other: Inventory): boolean {
  const grown = [...Object.values(leftOver(one, other)), ...Object.values(leftOver(other, one))];
  return grown.every((count) => count === 0);
}
