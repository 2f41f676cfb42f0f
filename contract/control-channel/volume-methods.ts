import * as z from "zod";

const path = z.string().regex(/^\/[^\0]+$/);
const serial = z.string().regex(/^[0-9a-f]{20}$/);
const none = z.object({});

/** Methods of the host about volumes. A volume is a disk that the host has plugged in; its serial names it. */
export const VOLUME_METHODS = {
  /** Waits for the disk and mounts it; a missing folder is made. */
  "volumes.mount": { params: z.object({ serial, path }), result: none },
  /** Writes cached data to the disk and unmounts it. `isLazy`: unmounts at once, although files are open, and writes nothing. */
  "volumes.unmount": {
    params: z.object({ serial, path, isLazy: z.boolean() }),
    /** Whether no file of the volume is in use any more. If false, everything written so far is on the disk. */
    result: z.object({ isFree: z.boolean() }),
  },
  /** Writes cached data to the disk while writers go on. Nothing when the volume is not mounted. */
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
