import * as z from "zod";

const count = z.number().nonnegative();

/** 200 of GET /sandboxes/:id/metrics (document 2, Other records). */
export const VmMetrics = z.object({
  /** Of all processors together, in percent: 100 when all are busy. */
  cpuPct: count,
  memBytes: count,
  memTotalBytes: count,
  diskBytes: count,
  /** Whether the numbers are of a share, counted by its cgroup. */
  contextScoped: z.boolean(),
});
export type VmMetrics = z.infer<typeof VmMetrics>;
