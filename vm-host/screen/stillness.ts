import { setTimeout as wait } from "node:timers/promises";
import { LATE, inTime } from "@svc/host-kit/deadline.ts";
import type { RfbClient } from "./rfb-client.ts";

/** What counts as a screen at rest, and how long it is waited for. */
export interface StillWish {
  stillMs: number;
  limitMs: number;
  /** The share of all pixels that may change at once. */
  tolerance: number;
}

export interface Stillness {
  still: boolean;
  waitedMs: number;
}

/** A screen that never rests is not asked more often than this. */
const LOOK_MS = 50;

/** Waits until a screen rests. The connection is for this alone, and is closed after. */
export async function untilStill(
  client: RfbClient,
  { stillMs, limitMs, tolerance }: StillWish,
  signal: AbortSignal,
): Promise<Stillness> {
  const startedAt = performance.now();
  const passed = (): number => performance.now() - startedAt;
  const close = (): void => client.close();
  signal.addEventListener("abort", close, { once: true });
  try {
    signal.throwIfAborted();
    // What the screen has changed since is a change.
    await client.capture();
    let restsSince = passed();
    for (;;) {
      const { width, height } = client.size;
      const most = tolerance * width * height;
      const change = client.change();
      change.catch(() => null);
      const restedAt = restsSince + stillMs;
      const leftMs = Math.min(restedAt, limitMs) - passed();
      let seen = leftMs > 0 ? await inTime(change, leftMs) : LATE;
      if (seen === LATE) {
        // A host that stood still itself has not read yet what the screen said meanwhile.
        if (restedAt <= limitMs) seen = await inTime(change, LOOK_MS);
        if (seen === LATE || seen.changed <= most)
          return { still: restedAt <= limitMs, waitedMs: Math.round(passed()) };
      }
      if (seen.changed > most) restsSince = passed();
      await wait(LOOK_MS, undefined, { signal });
    }
  } finally {
    signal.removeEventListener("abort", close);
    close();
  }
}
