import { LIMITS } from "@svc/contract/limits.ts";

/** What a lifecycle asks for besides its idle window. null is off. */
export interface Habits {
  parkAfterMs: number | null;
  hibernateAfterParkedMs: number | null;
  checkpointEveryMs: number | null;
}

/** When the last checkpoint was taken: as of then a machine goes on if its host dies. Durable: on any host. */
export interface Checkpoint {
  at: number;
  isDurable: boolean;
}

/** What the lifecycle of a running machine has come to: parks and checkpoints. */
export interface LifecycleState {
  habits: Habits;
  /** Since when its processors are to stand still; null while it is used. */
  parkedAt: number | null;
  /** The machine was parked for so long that it is to be hibernated. */
  isToSleep: boolean;
  /** When the next checkpoint is due; null when there is to be none. */
  checkpointDueAt: number | null;
  /** A checkpoint is due and not taken yet. */
  isToSave: boolean;
  checkpoint: Checkpoint | null;
}

/** The lifecycle of a machine that has just begun to run. */
export function newLifecycle(habits: Habits, now: number): LifecycleState {
  const { checkpointEveryMs: every } = habits;
  const checkpointDueAt = every === null ? null : now + every;
  const unsaved = { checkpointDueAt, isToSave: false, checkpoint: null };
  return { habits, parkedAt: null, isToSleep: false, ...unsaved };
}

/** Its timers: `lastUsedAt` is when its idle window began, `awaySince` when its host was last heard. */
export function lifecycleTimers(
  lifecycle: LifecycleState,
  { lastUsedAt, awaySince }: { lastUsedAt: number; awaySince: number | null },
): Partial<Record<"park" | "hibernate" | "checkpoint" | "lost", number>> {
  const { habits, parkedAt, isToSleep, checkpointDueAt, isToSave, checkpoint } = lifecycle;
  const { parkAfterMs } = habits;
  const sleepMs = sleepAfterMs(habits);
  const isSaved = parkedAt !== null && checkpoint !== null && checkpoint.at >= parkedAt;
  return {
    ...(parkAfterMs !== null && parkedAt === null && { park: lastUsedAt + parkAfterMs }),
    ...(parkedAt !== null && sleepMs !== null && !isToSleep && { hibernate: lastUsedAt + sleepMs }),
    // Nothing has changed in a parked machine since its last checkpoint.
    ...(checkpointDueAt !== null && !isToSave && !isSaved && { checkpoint: checkpointDueAt }),
    ...(awaySince !== null &&
      checkpoint?.isDurable && { lost: awaySince + LIMITS.checkpointLostMs }),
  };
}

/** After how long without use a machine is hibernated; null is never. */
export const sleepAfterMs = ({ parkAfterMs, hibernateAfterParkedMs }: Habits): number | null =>
  parkAfterMs === null || hibernateAfterParkedMs === null
    ? null
    : parkAfterMs + hibernateAfterParkedMs;

/** The machine is used: that wakes a parked one. */
export function used<L extends LifecycleState>(lifecycle: L, now: number): L {
  const { parkedAt, checkpoint, habits } = lifecycle;
  if (parkedAt === null) return lifecycle;
  const { checkpointEveryMs: every } = habits;
  const isSaved = checkpoint !== null && checkpoint.at >= parkedAt && every !== null;
  // A parked machine was worth no checkpoint: the interval begins with its next use.
  const due = isSaved ? { checkpointDueAt: now + every } : {};
  return { ...lifecycle, parkedAt: null, isToSleep: false, ...due };
}

/** A checkpoint was taken at `at`. */
export function checkpointed<L extends LifecycleState>(
  lifecycle: L,
  at: number,
  isDurable: boolean,
): L {
  const { checkpointEveryMs: every } = lifecycle.habits;
  const checkpointDueAt = every === null ? null : at + every;
  return { ...lifecycle, checkpoint: { at, isDurable }, checkpointDueAt, isToSave: false };
}

/** The checkpoint has reached the object store. */
export function checkpointStored<L extends LifecycleState>(lifecycle: L): L {
  const { checkpoint } = lifecycle;
  if (!checkpoint || checkpoint.isDurable) return lifecycle;
  return { ...lifecycle, checkpoint: { ...checkpoint, isDurable: true } };
}
