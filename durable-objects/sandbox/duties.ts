import type { Running, SandboxState } from "./state.ts";
import { hasNews, isBilling } from "./bill.ts";

/** A machine that runs and can be asked for something. */
const inReach = (state: SandboxState): Running | null =>
  state.status === "running" && state.awaySince === null ? state : null;

/** Whether it should be paused now: its idle window is over, or it was parked for long enough. */
export function wantsPause(state: SandboxState): boolean {
  const running = inReach(state);
  const isIdle = running?.onTimeout === "pause" && !isBilling(running.bill);
  return isIdle || running?.isToSleep === true;
}

/** Since when its processors should stand still; null when they should not. */
export function parkedSince(state: SandboxState): number | null {
  return wantsPause(state) ? null : (inReach(state)?.parkedAt ?? null);
}

/** Whether a checkpoint is due. */
export const wantsCheckpoint = (state: SandboxState): boolean => inReach(state)?.isToSave === true;

function actsOf(before: SandboxState, after: SandboxState): Act[] {
  const acts: Act[] = [];
  if (wantsPause(after) && !wantsPause(before)) acts.push("pause");
  const parkedAt = parkedSince(after);
  // Used and left alone again in one go: what went on with that use is parked anew.
  if (parkedAt !== null && parkedAt !== parkedSince(before)) acts.push("park");
  const isNew =
    !wantsCheckpoint(before) || inReach(before)?.checkpoint !== inReach(after)?.checkpoint;
  if (wantsCheckpoint(after) && isNew) acts.push("checkpoint");
  return acts;
}

/** Duties that are acts on the machine; its lifecycle asks for all but `snapshot`, which is one that was broken off. */
export type Act = "pause" | "park" | "checkpoint" | "snapshot";
/** What a change obliges the object to do. All but `machine` are repeated until done. */
export type Duty = "index" | "usage" | "host" | "volumes" | "machine" | Act;

/** The duties of going from one state to another. */
export function duties(before: SandboxState, after: SandboxState): Duty[] {
  const usage: Duty[] = hasNews(before.bill, after.bill) ? ["usage"] : [];
  const acts = actsOf(before, after);
  if (before.status === after.status) return [...usage, ...acts];
  // A new sandbox is in the index before it is answered.
  const isNew = before.status === "starting" && after.status === "running";
  const arrived: Duty[] = isNew ? ["host"] : DUTIES[after.status];
  return [...arrived, ...usage, ...acts];
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
