import * as z from "zod";

const count = z.int().nonnegative();
const nothing = z.object({});

/** The name of a share in its machine. Not the sandbox id, which is a capability. */
export const ShareId = z.string().regex(/^s[0-9a-f]{12}$/);

/** The least memory of a share, in MiB: its agent takes about 40 MiB. */
export const SHARE_LEAST_MB = 128;

/** A share to be made. */
export const ShareSpec = z.object({
  id: ShareId,
  hostname: z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/),
  /** Weight of its processor time against other shares. */
  cpu: z.int().min(1).max(8),
  /** Hard cap of its memory, its own agent included. */
  memMb: z.int().min(SHARE_LEAST_MB).max(16_384),
  /** Size of its own disk. */
  diskGb: z.int().min(1).max(20),
});
export type ShareSpec = z.infer<typeof ShareSpec>;

/** The two ports of the agent inside a share: the same two as of a machine. */
export const SharePort = z.enum(["control", "bulk"]);
export type SharePort = z.infer<typeof SharePort>;

/** Use and caps of a share, as its machine counts them. */
export const ShareUsage = z.object({
  cpuMs: z.number().nonnegative(),
  memBytes: count,
  memTotalBytes: count,
  diskBytes: count,
  diskTotalBytes: count,
});
export type ShareUsage = z.infer<typeof ShareUsage>;

/** Methods on connection 0 about the shares of a machine. Each share has an agent of its own. */
export const SHARE_METHODS = {
  /** Makes a share. Answered when its agent is being started. */
  "shares.make": { params: ShareSpec, result: nothing },
  /**
   * The bytes of a port of the agent inside: channel 0 goes in, channel 1 comes out. The answer is the share's end. A
   * later call takes the port over.
   */
  "shares.dial": { params: z.object({ id: ShareId, port: SharePort }), result: nothing },
  "shares.read": { params: z.object({ id: ShareId }), result: ShareUsage },
  /** Stops the processes of a share, or lets them go on. Answered when they have. */
  "shares.freeze": { params: z.object({ id: ShareId, isFrozen: z.boolean() }), result: nothing },
  /** Ends all shares but these. */
  "shares.keep": { params: z.object({ ids: z.array(ShareId) }), result: nothing },
  /** Ends every process of a share and removes its files. Nothing when there is no such share. */
  "shares.end": { params: z.object({ id: ShareId }), result: nothing },
} as const;
