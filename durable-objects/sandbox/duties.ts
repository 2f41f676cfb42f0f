import { hasNewSpan } from "./bill.ts";
import { sleepAfterMs } from "./lifecycle.ts";
import type { Running, SandboxState } from "./state.ts";

/** The machine, if it runs and can be asked for something. */
const inReach = (state: SandboxState): Running | null =>
  state.status === "running" && state.awaySince === null ? state : null;

/** Whether the machine should be paused if its host finds it unused: its idle window is over, or it was parked for long enough. */
export function wantsPause(state: SandboxState): boolean {
  const running = inReach(state);
  const isIdle = running?.onTimeout === "pause" && running.isExpired;
  return isIdle || running?.isToSleep === true;
}

/** Whether the machine should end if its host finds it unused. */
export function wantsEnd(state: SandboxState): boolean {
  const running = inReach(state);
  return running?.onTimeout === "kill" && running.isExpired && !running.isToSleep;
}

/** For how long nobody may have used the machine that is to be paused, or is to end. */
export function restAfterMs({ habits, idleMs, isToSleep }: Running): number {
  const sleepMs = isToSleep ? sleepAfterMs(habits) : null;
  return sleepMs ?? idleMs;
}

/** Since when its processors should stand still; null when they should not. */
export function parkedSince(state: SandboxState): number | null {
  return wantsPause(state) || wantsEnd(state) ? null : (inReach(state)?.parkedAt ?? null);
}

/** Whether a checkpoint is due. */
export const wantsCheckpoint = (state: SandboxState): boolean => inReach(state)?.isToSave === true;

/**
 * What a change obliges a sandbox's object to. `index`: write the line of the org's list, which is the reservation too.
 * `usage`: write the bill. `host`: tell its host's object. `volumes`: give them back. `machine`: have the host end it.
 * `pause`, `end`, `park` and `checkpoint` are what its lifecycle asks of the machine, `snapshot` ends one that was broken off.
 * All but `machine` are repeated until done.
 */
export type SandboxDuty =
  | "index"
  | "usage"
  | "host"
  | "volumes"
  | "machine"
  | "pause"
  | "end"
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
  if (wantsEnd(after) && !wantsEnd(before)) fresh.push("end");
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
