import type { HostPlatform } from "@svc/contract/host-protocol/vm-states.ts";
import type { Isolation, VmKind } from "@svc/contract/vm/machine.ts";
import type { Place } from "../host-calls/place.ts";
import type { Lane } from "../live/lane.ts";
import type { LiveRecord } from "../live/live-record.ts";
import type { SandboxView } from "../org/messages.ts";
import type { SandboxDuty } from "./duties.ts";
import type { MachineCalls } from "./machine-calls.ts";
import type { SandboxEvent, SandboxState } from "./state.ts";

/** What stays the same as long as a sandbox is there. */
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
  /** Of a desktop: the size of its screen, as its host says it. Absent until then. */
  resolution?: string;
  /** The snapshot that it was forked from. */
  fromSnapshot: string | null;
}

/** The record of a stopped machine that a sandbox can go on from. */
export interface SavedRecord {
  id: string;
  isDurable: boolean;
  /** What it was saved under; absent or null while that is not known: then any host may try. */
  platform?: HostPlatform | null;
  /** Absent while no host has said it. */
  sizeBytes?: number;
}

/** Everything a SandboxDO stores. */
export interface StoredSandbox extends SandboxFacts {
  state: SandboxState;
  place: Place | null;
  owed: SandboxDuty[];
  retryAt: number | null;
  /** The `expiresAt` that the org's list shows. */
  listedExpiresAt: number;
  /** What it goes on from when it is resumed, or when its host dies. */
  record?: SavedRecord | null;
  /** The host that was last asked to resume it from its record: it may have, though its answer was lost. */
  movingTo?: string | null;
  /** The snapshot that it was last forked from or reverted to. */
  parentSnapshot?: string;
  /** The snapshot of it that is being taken. */
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

/** What an operation on a sandbox works with. */
export interface LiveSandbox {
  env: Env;
  record: LiveRecord<StoredSandbox, SandboxEvent, SandboxDuty>;
  /** Changes of the machine's state go one after the other: a resume waits for the pause before it. */
  lane: Lane;
  /** Calls to the machine that run now. */
  calls: MachineCalls;
}

/** A sandbox that has a place. */
export type PlacedSandbox = StoredSandbox & { place: Place };

export const isPlaced = (sandbox: StoredSandbox | null): sandbox is PlacedSandbox =>
  sandbox !== null && sandbox.place !== null;

/** The part of a sandbox that its owner sees. */
type Viewed = Omit<
  SandboxView,
  "state" | "expiresAt" | "closeReason" | "goneAt" | "record" | "resolution"
> & {
  state: SandboxState;
  resolution?: string;
  record?: SavedRecord | null;
};

/** The sandbox as its owner sees it; null when its create failed. */
export function viewOf({ state, ...facts }: Viewed): SandboxView | null {
  const { id, kind, template, metadata, createdAt, cpu, memMb, diskGb } = facts;
  const { resolution = null } = facts;
  const known = { id, kind, template, metadata, createdAt, cpu, memMb, diskGb, resolution };
  const { id: recordId, sizeBytes = 0 } = facts.record ?? {};
  const record = recordId === undefined ? null : { id: recordId, sizeBytes };
  const alive = { ...known, closeReason: null, goneAt: null, record };
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
      return { ...known, state: status, expiresAt, closeReason, goneAt, record: null };
    }
  }
}
