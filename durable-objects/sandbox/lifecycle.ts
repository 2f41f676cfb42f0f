import { LIMITS } from "@svc/contract/limits.ts";

/** What a lifecycle asks for besides its idle window. null is off. */
export interface Habits {
  parkAfterMs: number | null;
  hibernateAfterParkedMs: number | null;
  checkpointEveryMs: number | null;
}

export const NO_HABITS: Habits = {
  parkAfterMs: null,
  hibernateAfterParkedMs: null,
  checkpointEveryMs: null,
};

/** As of when a machine goes on if its host dies; durable: on any host. */
export interface Checkpoint {
  at: number;
  isDurable: boolean;
}

/** How a running machine rests between its uses, and is saved now and then. */
export interface Rest {
  habits: Habits;
  /** Since when its processors are to stand still; null while it is used. */
  parkedAt: number | null;
  /** It was parked for so long that it is to be paused. */
  isToSleep: boolean;
  /** When the next checkpoint is due; null when there is to be none. */
  checkpointDueAt: number | null;
  /** A checkpoint is due and not taken yet. */
  isToSave: boolean;
  checkpoint: Checkpoint | null;
}

/** A machine that has just begun to run. */
export function awake(habits: Habits, now: number): Rest {
  const { checkpointEveryMs: every } = habits;
  const checkpointDueAt = every === null ? null : now + every;
  const unsaved = { checkpointDueAt, isToSave: false, checkpoint: null };
  return { habits, parkedAt: null, isToSleep: false, ...unsaved };
}

/** What rings of it: `lastUsedAt` is when its idle window began, `awaySince` when its host was last heard. */
export function restTimers(
  rest: Rest,
  { lastUsedAt, awaySince }: { lastUsedAt: number; awaySince: number | null },
): Partial<Record<"park" | "hibernate" | "checkpoint" | "lost", number>> {
  const { habits, parkedAt, isToSleep, checkpointDueAt, isToSave, checkpoint } = rest;
  const { parkAfterMs, hibernateAfterParkedMs } = habits;
  const isSaved = parkedAt !== null && checkpoint !== null && checkpoint.at >= parkedAt;
  return {
    ...(parkAfterMs !== null && parkedAt === null && { park: lastUsedAt + parkAfterMs }),
    ...(hibernateAfterParkedMs !== null &&
      parkedAt !== null &&
      !isToSleep && { hibernate: parkedAt + hibernateAfterParkedMs }),
    // Nothing has changed in a parked one since it was last saved.
    ...(checkpointDueAt !== null && !isToSave && !isSaved && { checkpoint: checkpointDueAt }),
    ...(awaySince !== null &&
      checkpoint?.isDurable && { lost: awaySince + LIMITS.checkpointLostMs }),
  };
}

/** It is used: what stood still goes on with that. */
export function woken<R extends Rest>(rest: R, now: number): R {
  const { parkedAt, checkpoint, habits } = rest;
  if (parkedAt === null) return rest;
  const { checkpointEveryMs: every } = habits;
  const isSaved = checkpoint !== null && checkpoint.at >= parkedAt && every !== null;
  // What stood still was worth no checkpoint: the interval begins with its next use.
  const due = isSaved ? { checkpointDueAt: now + every } : {};
  return { ...rest, parkedAt: null, isToSleep: false, ...due };
}

/** A checkpoint was taken at `at`. */
export function saved<R extends Rest>(rest: R, at: number, isDurable: boolean): R {
  const { checkpointEveryMs: every } = rest.habits;
  const checkpointDueAt = every === null ? null : at + every;
  return { ...rest, checkpoint: { at, isDurable }, checkpointDueAt, isToSave: false };
}

/** Its checkpoint has reached the object store. */
export function stored<R extends Rest>(rest: R): R {
  const { checkpoint } = rest;
  if (!checkpoint || checkpoint.isDurable) return rest;
  return { ...rest, checkpoint: { ...checkpoint, isDurable: true } };
}
