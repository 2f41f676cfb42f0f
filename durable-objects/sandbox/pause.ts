import type { Refusal } from "@svc/contract/errors.ts";
import { changeVm } from "../host-calls/vm-states.ts";
import { applyChange, type Change, factsOfSaved } from "./machine-change.ts";
import { isPlaced, type LiveSandbox, type PlacedSandbox, type StoredSandbox } from "./record.ts";
import { noSandbox, notRunning, notSaved } from "./refusals.ts";

/**
 * Saves memory and disk and frees the place of the cap, because the customer asks for it: what is under way in the machine
 * is interrupted. A sandbox that is paused already stays so.
 */
export function pause(live: LiveSandbox): Promise<{ paused: true } | Refusal> {
  return live.lane.run(async () => {
    const sandbox = live.record.tick();
    if (sandbox?.state.status === "paused") return { paused: true };
    const refused = await applyChange(live, await save(live.env, sandbox));
    return refused ?? { paused: true };
  });
}

async function save(env: Env, sandbox: StoredSandbox | null): Promise<Change> {
  const refused = notRunning(sandbox);
  if (refused || !isPlaced(sandbox)) return refused ?? noSandbox();
  const answer = await changeVm(env, sandbox.place.url, sandbox, "pause");
  if (answer.type !== "ok") return notSaved(answer, "paused");
  return savedBy(env, sandbox, answer.value);
}

/** The change that a host has made which has paused a machine. */
export async function savedBy(
  env: Env,
  sandbox: PlacedSandbox,
  saved: Parameters<typeof factsOfSaved>[2],
): Promise<Change> {
  const { isDurable, ...facts } = await factsOfSaved(env, sandbox, saved);
  return { event: { type: "paused", at: Date.now(), isDurable }, facts };
}
