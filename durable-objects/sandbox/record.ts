import type { HostPlatform } from "@svc/contract/host-protocol/vm-states.ts";
import type { Isolation, VmKind } from "@svc/contract/vm/machine.ts";
import type { GoneReason, SandboxState } from "@svc/contract/vm/sandbox.ts";
import type { Place } from "../session/find-slot.ts";
import type { SandboxState as State } from "./state.ts";
import type { Duty } from "./duties.ts";

/** What GET /sandboxes/:id and the list are made of. Times are ms since the epoch. */
export interface SandboxView {
  id: string;
  kind: VmKind;
  state: SandboxState;
  metadata: Record<string, string>;
  template: string;
  createdAt: number;
  expiresAt: number;
  cpu: number;
  memMb: number;
  diskGb: number;
  /** Why and when it ended; null while it has not. */
  closeReason: GoneReason | null;
  goneAt: number | null;
}

/** What stays the same over a sandbox's life. */
export interface SandboxFacts {
  id: string;
  org: string;
  kind: VmKind;
  template: string;
  metadata: Record<string, string>;
  createdAt: number;
  /** What was asked for, and once it is placed what it got. */
  cpu: number;
  memMb: number;
  diskGb: number;
  isolation: Isolation;
  /** Whether what needs a running machine resumes a paused one. */
  autoResume: boolean;
  /** How long a park may keep a caller waiting; null is the most there is. */
  parkMaxMs: number | null;
  /** The snapshot that it was forked from. */
  fromSnapshot: string | null;
}

/** What a sandbox can go on from. */
export interface SavedRecord {
  id: string;
  isDurable: boolean;
  /** What it was saved under; absent or null while that is not known: then any host may try. */
  platform?: HostPlatform | null;
}

/** Everything a SandboxDO keeps. */
export interface StoredSandbox extends SandboxFacts {
  state: State;
  place: Place | null;
  /** Duties not done yet, and when to try them again; null while none is owed. */
  owed: Duty[];
  retryAt: number | null;
  /** The `expiresAt` that the org's list shows. */
  listedExpiresAt: number;
  /** What it goes on from when it sleeps, or when its host dies. */
  record?: SavedRecord | null;
  /** The host that was last asked to let it go on from its record: it may, though its answer was lost. */
  movingTo?: string | null;
  /** The snapshot that it was last forked from or reverted to. */
  parentSnapshot?: string;
  /** A snapshot of it that is being taken. */
  taking?: string | null;
  /** Ports that everyone may see; absent while none was ever minted. */
  publicPorts?: number[];
  /** It was created with volumes, and gives them back when it is over. */
  hasVolumes?: true;
}

/** Whether its machine can be asked for something now. */
export const isInReach = ({ state }: StoredSandbox): boolean =>
  state.status === "running" && state.awaySince === null;

/** Whether nothing of it can be used any more. */
export function isOver({ state: { status } }: StoredSandbox): boolean {
  return status === "releasing" || status === "gone" || status === "failed";
}

/** The part of a sandbox that its owner sees. */
type Viewed = Omit<SandboxView, "state" | "expiresAt" | "closeReason" | "goneAt"> & {
  state: State;
};

/** The sandbox as its owner sees it; null for one whose create failed: it never was. */
export function viewOf({ state, ...facts }: Viewed): SandboxView | null {
  const { id, kind, template, metadata, createdAt, cpu, memMb, diskGb } = facts;
  const known = { id, kind, template, metadata, createdAt, cpu, memMb, diskGb };
  const alive = { ...known, closeReason: null, goneAt: null };
  switch (state.status) {
    case "failed":
      return null;
    case "starting":
      return { ...alive, state: "starting", expiresAt: state.giveUpAt };
    case "running":
      return { ...alive, state: "running", expiresAt: state.expiresAt };
    case "paused":
      return { ...alive, state: "paused", expiresAt: state.expiresAt };
    case "releasing":
    case "gone": {
      const { status, reason: closeReason, endedAt: goneAt, expiresAt } = state;
      return { ...known, state: status, expiresAt, closeReason, goneAt };
    }
  }
}
