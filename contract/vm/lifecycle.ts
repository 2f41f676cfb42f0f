import * as z from "zod";
import { LIMITS } from "../limits.ts";

/** The end of the idle window: the machine is paused or killed. */
export const OnTimeout = z.enum(["pause", "kill"]);
export type OnTimeout = z.infer<typeof OnTimeout>;

// A value below the minimum is raised to it, also a negative one.
const wait = z.number().nullish();

/** `lifecycle` of a create, as it is sent. Ranges are raised and capped, never refused (document 2). */
export const LifecycleWanted = z.strictObject({
  onTimeout: OnTimeout.nullish(),
  autoResume: z.boolean().nullish(),
  parkAfterMs: wait,
  parkMaxMs: wait,
  hibernateAfterParkedMs: wait,
  checkpointEveryMs: wait,
});
export type LifecycleWanted = z.infer<typeof LifecycleWanted>;

/** A lifecycle with its defaults, in range. null = off. */
export interface Lifecycle {
  onTimeout: OnTimeout;
  autoResume: boolean;
  parkAfterMs: number | null;
  parkMaxMs: number | null;
  hibernateAfterParkedMs: number | null;
  checkpointEveryMs: number | null;
}

/** Brings the wanted values into range. `timeoutMs` is the idle window of the machine, in ms. */
export function lifecycleOf(wanted: LifecycleWanted, timeoutMs: number): Lifecycle {
  const parked = (ms: number | null | undefined) =>
    ms == null ? null : Math.min(Math.max(ms, LIMITS.parkLeastMs), timeoutMs);
  const { parkMaxMs, checkpointEveryMs } = wanted;
  return {
    onTimeout: wanted.onTimeout ?? "pause",
    autoResume: wanted.autoResume ?? false,
    parkAfterMs: parked(wanted.parkAfterMs),
    parkMaxMs: parkMaxMs == null ? null : Math.min(Math.max(parkMaxMs, 0), LIMITS.parkMaxMs),
    hibernateAfterParkedMs: parked(wanted.hibernateAfterParkedMs),
    checkpointEveryMs:
      checkpointEveryMs == null ? null : Math.max(checkpointEveryMs, LIMITS.checkpointLeastMs),
  };
}
