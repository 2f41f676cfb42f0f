import * as z from "zod";

const count = z.number().nonnegative();

/** 200 of GET /sandboxes/:id/metrics (document 2, Other records). */
export const VmMetrics = z.object({
  /** Of all its processors together: 100 is all of them busy. */
  cpuPct: count,
  memBytes: count,
  memTotalBytes: count,
  diskBytes: count,
  /** Whether the numbers are of a cgroup in a shared machine. */
  contextScoped: z.boolean(),
});
export type VmMetrics = z.infer<typeof VmMetrics>;
