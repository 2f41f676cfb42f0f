import type { SandboxState } from "./sandbox.ts";
import { hasNews, isBilling } from "./spans.ts";

/** Whether its idle window is over and it should be paused now. */
export const wantsPause = (state: SandboxState): boolean =>
  state.status === "running" &&
  state.onTimeout === "pause" &&
  state.awaySince === null &&
  !isBilling(state.bill);

/** What a change obliges the object to do. All but `machine` are repeated until done. */
export type Duty = "index" | "usage" | "host" | "pause" | "volumes" | "machine";

/** The duties of going from one state to another. */
export function duties(before: SandboxState, after: SandboxState): Duty[] {
  const usage: Duty[] = hasNews(before.bill, after.bill) ? ["usage"] : [];
  const pause: Duty[] = wantsPause(after) && !wantsPause(before) ? ["pause"] : [];
  if (before.status === after.status) return [...usage, ...pause];
  // A new sandbox is in the index before it is answered.
  const isNew = before.status === "starting" && after.status === "running";
  const arrived: Duty[] = isNew ? ["host"] : DUTIES[after.status];
  return [...arrived, ...usage, ...pause];
}

/** What arriving in a state obliges to. */
const DUTIES: Record<SandboxState["status"], Duty[]> = {
  starting: [],
  running: ["index", "host"],
  paused: ["index", "host"],
  releasing: ["index", "machine"],
  gone: ["index", "host", "volumes"],
  failed: ["index", "volumes"],
};
