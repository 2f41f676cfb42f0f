import type { OnTimeout } from "@svc/contract/vm/lifecycle.ts";
import type { GoneReason } from "@svc/contract/vm/sandbox.ts";
import type { Habits, LifecycleState } from "./lifecycle.ts";
import type { Bill, Span } from "./bill.ts";

export interface Starting {
  status: "starting";
  giveUpAt: number;
  bill: Bill;
}
export interface Running extends LifecycleState {
  status: "running";
  /** The rolling idle window: it ends at `expiresAt` unless something happens before. */
  idleMs: number;
  expiresAt: number;
  onTimeout: OnTimeout;
  /** When its host was last heard, while that is away; null while it is registered. */
  awaySince: number | null;
  bill: Bill;
}
/** Saved with memory and disk on its host. It holds no place of the cap and costs nothing. */
export interface Paused {
  status: "paused";
  idleMs: number;
  /** When its idle window ended, or would have. */
  expiresAt: number;
  onTimeout: OnTimeout;
  habits: Habits;
  /** Its record is in the object store: any host can resume it. */
  isDurable: boolean;
  bill: Bill;
}
/** The sandbox has ended; its host has not confirmed yet that the machine is gone. */
export interface Releasing {
  status: "releasing";
  reason: GoneReason;
  endedAt: number;
  expiresAt: number;
  bill: Bill;
}
export interface Gone {
  status: "gone";
  reason: GoneReason;
  endedAt: number;
  expiresAt: number;
  bill: Bill;
}
/** The create failed. */
export interface Failed {
  status: "failed";
  bill: Bill;
}
export type SandboxState = Starting | Running | Paused | Releasing | Gone | Failed;

export type SandboxEvent =
  | { type: "placed"; idleMs: number; onTimeout: OnTimeout; habits: Habits }
  | { type: "createFailed" }
  /** The machine was used at `at`, which may be a while ago: the host tells of it with its heartbeats. */
  | { type: "activity"; at: number }
  | { type: "idleSet"; idleMs: number }
  | { type: "delete" }
  /** The host has paused it, at `at`. */
  | { type: "paused"; at: number; isDurable: boolean }
  | { type: "resumed" }
  /** The machine runs as it was at a snapshot: no checkpoint of before is of use. */
  | { type: "reverted"; at: number }
  /** A checkpoint was taken, at `at`. */
  | { type: "checkpointed"; at: number; isDurable: boolean }
  /** Its record or checkpoint has reached the object store. */
  | { type: "stored" }
  /** The host has ended the machine. */
  | { type: "hostFreed" }
  /** The machine ended by itself. */
  | { type: "hostEnded" }
  | { type: "hostAway"; seenAt: number }
  | { type: "hostBack" }
  | { type: "hostLost"; seenAt: number }
  | { type: "billed"; spans: readonly Span[] }
  | { type: "tick" };

/** The times at which something happens by itself. Names are for logs and tests. */
export type SandboxTimers = Partial<Record<TimerName, number>>;
export type TimerName =
  | "giveUp"
  | "window"
  | "idle"
  | "forced"
  | "park"
  | "hibernate"
  | "checkpoint"
  | "lost";
