import type { BrowserKind, CloseReason } from "@svc/contract/browser/session.ts";
import type { VmKind } from "@svc/contract/vm/machine.ts";
import type { GoneReason, SandboxState } from "@svc/contract/vm/sandbox.ts";

/** Whether a claim was granted; if not, who holds the places. */
export type Reserved = { reserved: true } | { reserved: false; holders: string[] };

/** What a session asks of its org before it takes a slot anywhere. Times are ms since the epoch, here and below. */
export interface SessionClaim {
  id: string;
  kind: "browser";
  cap: number;
  browserKind: BrowserKind;
  createdAt: number;
  expiresAt: number;
  /** A claim not kept by then is void. */
  lapsesAt: number;
}

/** A session that has its slot, so that its claim is to be kept. */
export type SessionHold = Omit<SessionClaim, "cap" | "lapsesAt">;

/** How a session ended, for the list of its org. */
export interface Ending {
  status: "released" | "expired";
  closeReason: CloseReason;
  endedAt: number;
}

/** A line of the org's list of sessions. */
export interface SessionLine {
  id: string;
  browserKind: BrowserKind;
  createdAt: number;
  expiresAt: number;
  /** Null while the session lives: its own object knows more. */
  ended: Ending | null;
  /** Its deadline was long ago, and it has not said how it ended. */
  isOverdue: boolean;
}
export interface SessionPage {
  lines: SessionLine[];
  nextCursor: string | null;
}
export interface SessionQuery {
  limit: number;
  cursor: string | null;
  status: "live" | "released" | "expired" | null;
}

/** A sandbox as its owner sees it: what GET /sandboxes/:id and the list are made of. */
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
  /** Of a desktop: the size of its screen. Null while its host has not said it. */
  resolution: string | null;
  /** Why and when it ended; null while it has not. */
  closeReason: GoneReason | null;
  goneAt: number | null;
  /** The record that the sandbox goes on from. Shares of one home have one record in common. */
  record: { id: string; sizeBytes: number } | null;
}

/** The caps of an org, judged whenever a machine begins to run: a machine that runs may be paused at any time. */
export interface KeptCaps {
  pausedVms: number;
  storedGib: number;
  /** Bytes of the org's snapshots and volumes. */
  elsewhereBytes: number;
}

/** For an org of which the control plane cannot say what it may keep. */
export const UNCAPPED: KeptCaps = { pausedVms: Infinity, storedGib: Infinity, elsewhereBytes: 0 };

/** Whether a sandbox may run; if not, who holds the places, or which cap of what is kept is full. */
export type SandboxReserved =
  | Reserved
  | { reserved: false; full: { kind: "pausedVm" | "storage"; cap: number } };

/** The machines that an org keeps, running and paused, and the bytes of their records. */
export interface KeptMachines {
  machines: number;
  recordBytes: number;
}

/** What a sandbox asks of its org before it takes capacity of any host. */
export interface SandboxClaim {
  /** The sandbox while it starts. */
  view: SandboxView;
  cap: number;
  kept: KeptCaps;
  /** A claim not confirmed by then is void. */
  lapsesAt: number;
}

/** GET /sandboxes. */
export interface SandboxQuery {
  limit: number;
  cursor: string | null;
  state: SandboxState | null;
  kind: VmKind | null;
  /** Labels that must all be there. */
  metadata: [string, string][];
}
export interface SandboxPage {
  sandboxes: SandboxView[];
  nextCursor: string | null;
}

/** What the build of a template asks of its org before it is taken to any host. */
export interface BuildClaim {
  id: string;
  cap: number;
  /** Void then, whoever failed to free it. */
  lapsesAt: number;
}
