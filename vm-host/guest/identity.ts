import { randomBytes } from "node:crypto";
import { FIRST_SYNC_WORD } from "@svc/contract/control-channel/sync-word.ts";
import type { VmKind } from "@svc/contract/vm/machine.ts";
import type { Identity } from "@svc/contract/control-channel/identity.ts";

/** The resolver of QEMU's user network. */
const RESOLVER = "10.0.2.3";

/** Who a machine is, from its placement to its end. A resume keeps it; a clone and a fork get another one. */
export interface Self {
  kind: VmKind;
  /** Told to customers: when it changes, their handles are gone. */
  bootId: string;
  hostname: string;
  machineId: string;
  envs: Record<string, string>;
  hasNetwork: boolean;
  /** Where its commands run and as whom; absent: in the agent's folder, as root. */
  cwd?: string;
  user?: string;
  /** Of a desktop: the size of its screen at its placement. */
  resolution?: string;
  /** Of a desktop that is recorded. A fork is not. */
  isRecorded?: true;
}

/** What a new machine is beside its name. */
export type NewSelf = Pick<Self, "envs" | "hasNetwork"> &
  Partial<Pick<Self, "kind" | "resolution" | "isRecorded">>;

/** A new machine's name and id. Nothing in them tells the customer's id: it is a capability. */
export function newSelf({ kind = "sandbox", ...facts }: NewSelf): Self {
  const name = randomBytes(5).toString("hex");
  return {
    kind,
    bootId: randomBytes(9).toString("hex"),
    hostname: `sandbox-${name}`,
    machineId: randomBytes(16).toString("hex"),
    ...facts,
  };
}

type Inherited = Pick<Self, "cwd" | "user" | "resolution">;

/** What a fork has of its origin: the defaults that a template has given to commands, and its screen. */
export function defaultsOf({ cwd, user, resolution }: Inherited): Inherited {
  return {
    ...(cwd !== undefined && { cwd }),
    ...(user !== undefined && { user }),
    ...screenOf({ resolution }),
  };
}

/** The size of a screen, where there is one. */
export const screenOf = ({ resolution }: { resolution?: string | undefined }) =>
  resolution === undefined ? {} : { resolution };

/** The identity of one life. */
export function identityOf(self: Self, generation: number): Identity {
  return {
    generation,
    kind: self.kind,
    bootId: self.bootId,
    nowMs: Date.now(),
    entropy: randomBytes(32).toString("hex"),
    hostname: self.hostname,
    machineId: self.machineId,
    nameServers: self.hasNetwork ? [RESOLVER] : [],
    envs: self.envs,
    ...(self.cwd !== undefined && { cwd: self.cwd }),
    ...(self.user !== undefined && { user: self.user }),
    ...(self.resolution !== undefined && { resolution: self.resolution }),
    nextSyncWord: randomBytes(FIRST_SYNC_WORD.length).toString("hex"),
  };
}
