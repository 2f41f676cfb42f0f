import { hasNewSpan, isBilling } from "./bill.ts";
import type { Running, SandboxState } from "./state.ts";

/** The machine, if it runs and can be asked for something. */
const inReach = (state: SandboxState): Running | null =>
  state.status === "running" && state.awaySince === null ? state : null;

/** Whether the machine should be paused now: its idle window is over, or it was parked for long enough. */
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

/**
 * What a change obliges a sandbox's object to. `index`: write the line of the org's list, which is the reservation too.
 * `usage`: write the bill. `host`: tell its host's object. `volumes`: give them back. `machine`: have the host end it.
 * `pause`, `park` and `checkpoint` are what its lifecycle asks of the machine, `snapshot` ends one that was broken off.
 * All but `machine` are repeated until done.
 */
export type SandboxDuty =
  | "index"
  | "usage"
  | "host"
  | "volumes"
  | "machine"
  | "pause"
  | "park"
  | "checkpoint"
  | "snapshot";

/** The duties of going from one state to another. */
export function duties(before: SandboxState, after: SandboxState): SandboxDuty[] {
  const usage: SandboxDuty[] = hasNewSpan(before.bill, after.bill) ? ["usage"] : [];
  const ofLifecycle = lifecycleDuties(before, after);
  if (before.status === after.status) return [...usage, ...ofLifecycle];
  // A new sandbox is in the index before its create is answered.
  const isNew = before.status === "starting" && after.status === "running";
  const arrived: SandboxDuty[] = isNew ? ["host"] : ARRIVED[after.status];
  return [...arrived, ...usage, ...ofLifecycle];
}

function lifecycleDuties(before: SandboxState, after: SandboxState): SandboxDuty[] {
  const fresh: SandboxDuty[] = [];
  if (wantsPause(after) && !wantsPause(before)) fresh.push("pause");
  const parkedAt = parkedSince(after);
  // A machine that was used and left alone again between two looks is parked anew: the use has woken it.
  if (parkedAt !== null && parkedAt !== parkedSince(before)) fresh.push("park");
  const isNew =
    !wantsCheckpoint(before) || inReach(before)?.checkpoint !== inReach(after)?.checkpoint;
  if (wantsCheckpoint(after) && isNew) fresh.push("checkpoint");
  return fresh;
}

/** What arriving in a state obliges to. */
const ARRIVED: Record<SandboxState["status"], SandboxDuty[]> = {
  starting: [],
  running: ["index", "host"],
  paused: ["index", "host"],
  releasing: ["index", "machine"],
  gone: ["index", "host", "volumes"],
  failed: ["index", "volumes"],
};
