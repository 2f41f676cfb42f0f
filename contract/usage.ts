import * as z from "zod";

const amount = z.number().nonnegative();

/** One browser session, or one running span of a VM. */
export const UsageSegment = z.object({
  /** The id of the session or sandbox. */
  id: z.string(),
  kind: z.enum(["browser", "vm"]),
  startedAt: z.iso.datetime(),
  /** null while it runs. */
  endedAt: z.iso.datetime().nullable(),
  /** Cost of the part between `from` and `to`. */
  cents: amount,
});
export type UsageSegment = z.infer<typeof UsageSegment>;

/** An amount that an org keeps, and the cap of the plan. */
const kept = z.object({
  used: amount,
  /** null: no cap. */
  cap: amount.nullable(),
});

/** Machines, volumes, snapshots, templates and GiB of an org, each against the cap of the plan. */
const Kept = z.object({
  /** Machines, running and paused together: each running machine may be paused at any time. */
  machines: kept,
  snapshots: kept,
  templates: kept,
  volumes: kept,
  /** GiB of paused machines and checkpoints, of snapshots and of volumes together, and of each. */
  gib: kept.extend({ machines: amount, snapshots: amount, volumes: amount }),
});

/** 200 of GET /usage (decisions): what was used between `from` and `to`, at the rates of the price list. */
export const Usage = z.object({
  from: z.iso.datetime(),
  to: z.iso.datetime(),
  browserSeconds: amount,
  vcpuSeconds: amount,
  memGibSeconds: amount,
  cents: amount,
  /** Credit that is left now; null when the org is not prepaid. */
  creditCents: z.number().nullable(),
  kept: Kept,
  /** Segments that touch the time asked for, newest first, at most 1,000. */
  segments: z.array(UsageSegment).max(1000),
});
export type Usage = z.infer<typeof Usage>;
