import * as z from "zod";

const count = z.int().nonnegative();
const nothing = z.object({});

/** A share's name in its machine: no customer's id, which is a capability. */
export const ShareId = z.string().regex(/^s[0-9a-f]{12}$/);

/** The least that a share can be: its agent takes about 40 MiB of it. */
export const SHARE_LEAST_MB = 128;

/** What a share is made of. */
export const ShareSpec = z.object({
  id: ShareId,
  hostname: z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/),
  /** Weight of its processor time against its neighbours'. */
  cpu: z.int().min(1).max(8),
  /** Hard cap of its memory, its own agent included. */
  memMb: z.int().min(SHARE_LEAST_MB).max(16_384),
  /** Size of its own disk. */
  diskGb: z.int().min(1).max(20),
});
export type ShareSpec = z.infer<typeof ShareSpec>;

/** The two ports of the agent inside a share, as those of a machine. */
export const SharePort = z.enum(["control", "bulk"]);
export type SharePort = z.infer<typeof SharePort>;

/** What a share has used and may use, as its machine counts it. */
export const ShareUsage = z.object({
  cpuMs: z.number().nonnegative(),
  memBytes: count,
  memTotalBytes: count,
  diskBytes: count,
  diskTotalBytes: count,
});
export type ShareUsage = z.infer<typeof ShareUsage>;

/** Shares of a machine, on the host's connection: each is a small machine of its own with an agent inside. */
export const SHARE_METHODS = {
  /** Answered when its agent is being started. */
  "shares.make": { params: ShareSpec, result: nothing },
  /**
   * The bytes of a port of the agent inside: channel 0 goes in, channel 1 comes out. The answer is the share's end. A
   * later call takes the port over.
   */
  "shares.dial": { params: z.object({ id: ShareId, port: SharePort }), result: nothing },
  "shares.read": { params: z.object({ id: ShareId }), result: ShareUsage },
  /** Its processes stand still, or go on. Answered when they do. */
  "shares.freeze": { params: z.object({ id: ShareId, isFrozen: z.boolean() }), result: nothing },
  /** Ends all but these. */
  "shares.keep": { params: z.object({ ids: z.array(ShareId) }), result: nothing },
  /** Ends every process of it and removes what it has written. Nothing when there is none. */
  "shares.end": { params: z.object({ id: ShareId }), result: nothing },
} as const;
