import { ToolError } from "./tool.ts";

/** The browser or machine of a call, by its `sessionId`. */
export type Subject = { kind: "browser" | "machine"; id: string };

/** How long a turn may be waited for and had, together. */
export interface TurnLimits {
  lastsMs: number;
  /** Aborted when the call is over, however it ends: the turn ends with it. */
  signal: AbortSignal;
}

/** The order of calls on one session. */
export interface Turns {
  /**
   * Waits until earlier calls on the session are over, and answers a function that ends the turn. Renews a browser's lease.
   * Throws `HandoffActive` when a person or the service itself has the session, and `SessionBusy` when too many calls wait.
   */
  take(subject: Subject, limits: TurnLimits): Promise<() => void>;
}

/** The refusal while a person has the session, or the service signs in for it. */
export const handoffActive = (): ToolError =>
  new ToolError(
    "HandoffActive",
    "A person has this session, or the service is signing in for it: tools are refused meanwhile.",
  );

/** The refusal of a call whose turn did not come. */
export const sessionBusy = (): ToolError =>
  new ToolError(
    "SessionBusy",
    "Earlier calls on this session are still running, and this one was not begun. Wait for their answers.",
  );
