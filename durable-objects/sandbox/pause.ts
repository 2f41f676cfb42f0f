import type { Refusal } from "@svc/contract/errors.ts";
import { changeVm } from "../host-calls/vm-states.ts";
import { wantsPause } from "./duties.ts";
import { applyChange, type Change, factsOfSaved } from "./machine-change.ts";
import { isPlaced, type LiveSandbox, type StoredSandbox } from "./record.ts";
import { noSandbox, notRunning, notSaved } from "./refusals.ts";

/** Saves memory and disk and frees the place of the cap. A sandbox that is paused already stays so. */
export function pause(live: LiveSandbox): Promise<{ paused: true } | Refusal> {
  return live.lane.run(async () => {
    const sandbox = live.record.tick();
    if (sandbox?.state.status === "paused") return { paused: true };
    const refused = await applyChange(live, await save(live.env, sandbox));
    return refused ?? { paused: true };
  });
}

/** Pauses the machine as its lifecycle asks, unless it was used meanwhile. */
export function pauseIdle(live: LiveSandbox): Promise<void> {
  return live.lane.run(async () => {
    const sandbox = live.record.tick();
    if (!sandbox || !wantsPause(sandbox.state)) return;
    const refused = await applyChange(live, await save(live.env, sandbox));
    // A host that cannot pause will not learn it: the machine is kept for a while.
    if (refused && refused.refused.code !== "HostCapabilityMissing")
      throw new Error(refused.refused.message);
  });
}

async function save(env: Env, sandbox: StoredSandbox | null): Promise<Change> {
  const refused = notRunning(sandbox);
  if (refused || !isPlaced(sandbox)) return refused ?? noSandbox();
  const answer = await changeVm(env, sandbox.place.url, sandbox, "pause");
  if (answer.type !== "ok") return notSaved(answer, "paused");
  const { isDurable, ...facts } = await factsOfSaved(env, sandbox, answer.value);
  return { event: { type: "paused", at: Date.now(), isDurable }, facts };
}
