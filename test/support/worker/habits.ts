import type { Habits } from "../../../durable-objects/sandbox/lifecycle.ts";

/** A lifecycle that asks for an idle window alone. */
export const NO_HABITS: Habits = {
  parkAfterMs: null,
  hibernateAfterParkedMs: null,
  checkpointEveryMs: null,
};
