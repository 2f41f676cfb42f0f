import { openMap } from "../open-map.ts";
import * as z from "zod";
import { SYNC_WORD_BYTES } from "./sync-word.ts";

const hex = (bytes: number) => z.string().regex(new RegExp(`^[0-9a-f]{${bytes * 2}}$`));
const label = z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/);

/** Who the machine is in this life: the first thing the host says after every clone, resume and fork (vm-host.md, 3). */
export const Identity = z.object({
  /** Grows with every life of the same machine. */
  generation: z.int().nonnegative(),
  kind: z.enum(["sandbox", "desktop"]),
  /** Told to customers in `rpc.hello`: another one means that their handles are gone. */
  bootId: z.string().min(1).max(64),
  /** Milliseconds since the epoch, read right before sending. */
  nowMs: z.number().positive(),
  /** Credited to the kernel's pool, which is then reseeded. */
  entropy: hex(32),
  hostname: label,
  /** What /etc/machine-id shall hold. */
  machineId: hex(16),
  /** Addresses of name servers; empty: names resolve to nothing. */
  nameServers: z.array(z.union([z.ipv4(), z.ipv6()])).max(3),
  /** The session's environment, for every command. */
  envs: openMap(z.string().regex(/^[^=\0]+$/), z.string().regex(/^[^\0]*$/)),
  /** Where commands run and as whom, unless they say otherwise: of a machine made of a custom template. */
  cwd: z.string().startsWith("/").max(4096).exactOptional(),
  user: z.string().max(32).exactOptional(),
  /** It was saved and goes on: nobody is on the other side of its TCP connections any more, or only of the machine it was. */
  dropConnections: z.literal(true).exactOptional(),
  /** Begins the next life of the ports. Secret; kept with every snapshot of this life. */
  nextSyncWord: hex(SYNC_WORD_BYTES),
});
export type Identity = z.infer<typeof Identity>;

/** The guest is who it was told to be. */
export const IdentityDone = z.object({
  generation: z.int(),
  /** What the whole step took inside the guest. */
  tookMs: z.number(),
  /** Distance between the guest's clock and `nowMs` before it was set. */
  clockStepMs: z.number(),
});
export type IdentityDone = z.infer<typeof IdentityDone>;
