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
  /** The idle window is over by what is known here. Its host alone knows whether it is, and is asked. */
  isExpired: boolean;
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
  /** The host says that the machine was in use at `at`, and whether the processors stand still since. */
  | { type: "activity"; at: number; isParked?: true }
  /** A request is on its way to the machine, which it wakes. */
  | { type: "called" }
  /** Somebody has asked for its record: that begins the idle window anew and wakes nothing. */
  | { type: "looked" }
  /** The idle window is over, and the host neither rests the machine nor says that the machine is in use: the machine runs on, not billed. */
  | { type: "notRested" }
  /** The host has found that the idle window is over, and has ended the machine. */
  | { type: "idleEnded" }
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
