import { Exec } from "../vm/exec.ts";
import * as z from "zod";
import { Identity, IdentityDone } from "./identity.ts";
import { SHARE_METHODS } from "./share-methods.ts";
import { Exit, METHODS } from "./methods.ts";
import { EXEC_OUTPUT_BYTES } from "./protocol.ts";
import { VOLUME_METHODS } from "./volume-methods.ts";

const count = z.int().nonnegative();
const port = z.int().min(1).max(65_535);

/** Memory and disk as the guest sees them. */
export const GuestMetrics = z.object({
  memTotalBytes: count,
  /** Memory that is not available to a new program. */
  memBytes: count,
  diskTotalBytes: count,
  diskBytes: count,
});
export type GuestMetrics = z.infer<typeof GuestMetrics>;

/** Methods of the host on connection 0, beside all methods of customers. */
export const HOST_METHODS = {
  ...METHODS,
  ...VOLUME_METHODS,
  ...SHARE_METHODS,
  /** Sets the identity of a life. Every other request of the life waits for it. */
  "identity.set": { params: Identity, result: IdentityDone },
  /** One-shot exec: up to 8 MiB of stdout on channel 1 and of stderr on channel 2, then `truncated`. No stdin. */
  "commands.exec": {
    params: Exec.extend({
      maxBytes: z.int().positive().max(EXEC_OUTPUT_BYTES).default(EXEC_OUTPUT_BYTES),
    }),
    result: Exit.extend({ truncated: z.literal(true).exactOptional() }),
  },
  /** Sets the clock of a machine that stood still in the same life. */
  "clock.set": { params: Identity.pick({ nowMs: true }), result: z.object({}) },
  /** Starts a kernel with its libraries loaded, for the first Python context of whoever gets a clone of this machine. */
  "code.warm": { params: z.object({}), result: z.object({}) },
  "metrics.read": { params: z.object({}), result: GuestMetrics },
  /**
   * A TCP connection to a port of the guest's loopback. `ports.connected` comes once it stands, `ConnectionRefused`
   * when nothing listens; channel 0 goes in, channel 1 comes out, and the answer is the end of both.
   */
  "ports.dial": {
    params: z.object({ port }),
    result: z.object({ sentBytes: count, receivedBytes: count }),
  },
} as const;

/** `ports.connected`: the dialled port has accepted. `id` is that of the request. */
export const PortConnected = z.object({ id: count });
