import * as z from "zod";

const path = z.string().regex(/^\/[^\0]+$/);
const serial = z.string().regex(/^[0-9a-f]{20}$/);
const none = z.object({});

/** What the host asks about volumes, which it has plugged in as disks of a serial. */
export const VOLUME_METHODS = {
  /** Waits for the disk and mounts it; the folder is made where there is none. */
  "volumes.mount": { params: z.object({ serial, path }), result: none },
  /** Writes all that is in memory out and unmounts it. `isLazy`: at once, whoever has a file of it open, writing nothing. */
  "volumes.unmount": {
    params: z.object({ serial, path, isLazy: z.boolean() }),
    /** Whether nothing of it is in use any more; if not, all that was written so far is on the disk. */
    result: z.object({ isFree: z.boolean() }),
  },
  /** Writes out what its memory holds of it, while writers go on. Nothing where it is mounted nowhere. */
  "volumes.flush": { params: z.object({ serial }), result: none },
  /**
   * Lets writers wait, with all written out, until it is thawed or `limitMs` have passed: wherever it is mounted by now. One
   * that is mounted nowhere has no writers.
   */
  "volumes.freeze": {
    params: z.object({ serial, limitMs: z.int().positive().max(60_000) }),
    result: none,
  },
  "volumes.thaw": { params: z.object({ serial }), result: none },
} as const;
