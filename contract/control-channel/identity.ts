import { openMap } from "../open-map.ts";
import * as z from "zod";
import { Resolution, VmKind } from "../vm/machine.ts";
import { SYNC_WORD_BYTES } from "./sync-word.ts";

const hex = (bytes: number) => z.string().regex(new RegExp(`^[0-9a-f]{${bytes * 2}}$`));
const label = z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/);

/** The identity of a machine in one life: the first request of the host after every clone, resume and fork (vm-host.md, 3). */
export const Identity = z.object({
  /** Grows with every life of the same machine. */
  generation: z.int().nonnegative(),
  kind: VmKind,
  /** Told to customers in `rpc.hello`: a new value means that their handles are gone. */
  bootId: z.string().min(1).max(64),
  /** Milliseconds since the epoch, read right before sending. */
  nowMs: z.number().positive(),
  /** Entropy for the kernel's random pool, which is then reseeded. */
  entropy: hex(32),
  hostname: label,
  /** The content of /etc/machine-id. */
  machineId: hex(16),
  /** Addresses of name servers; empty: names resolve to nothing. */
  nameServers: z.array(z.union([z.ipv4(), z.ipv6()])).max(3),
  /** Environment variables of every command. */
  envs: openMap(z.string().regex(/^[^=\0]+$/), z.string().regex(/^[^\0]*$/)),
  /** Folder and user of commands that name none: of a machine made of a custom template. */
  cwd: z.string().startsWith("/").max(4096).exactOptional(),
  user: z.string().max(32).exactOptional(),
  /** Of a desktop: the size of its screen, should the screen be started again. */
  resolution: Resolution.exactOptional(),
  /** The machine goes on from a record: its TCP connections have lost their other side and are dropped. */
  dropConnections: z.literal(true).exactOptional(),
  /** Begins the next life of the ports. Secret; kept with every snapshot of this life. */
  nextSyncWord: hex(SYNC_WORD_BYTES),
});
export type Identity = z.infer<typeof Identity>;

/** Result of `identity.set`. */
export const IdentityDone = z.object({
  generation: z.int(),
  /** How long the step took inside the guest. */
  tookMs: z.number(),
  /** Distance between the guest's clock and `nowMs` before it was set. */
  clockStepMs: z.number(),
});
export type IdentityDone = z.infer<typeof IdentityDone>;
