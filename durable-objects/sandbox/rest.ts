import { changeVm, type NotChanged } from "../host-calls/vm-states.ts";
import { restAfterMs, wantsEnd, wantsPause } from "./duties.ts";
import { applyChange } from "./machine-change.ts";
import { savedBy } from "./pause.ts";
import { isPlaced, type LiveSandbox, type PlacedSandbox } from "./record.ts";
import { notSaved } from "./refusals.ts";
import type { Running, SandboxEvent } from "./state.ts";
import { useBy } from "./use.ts";

/**
 * Pauses the machine as its lifecycle asks, if its host finds it unused for so long. Answers what the host knows better.
 * Throws when it is to be tried again.
 */
export function pauseIdle(live: LiveSandbox): Promise<SandboxEvent[]> {
  return rest(live, wantsPause, async (sandbox, body) => {
    const answer = await changeVm(live.env, sandbox.place.url, sandbox, "pause", body);
    if (answer.type !== "ok") return notRested(live, answer);
    await applyChange(live, await savedBy(live.env, sandbox, answer.value));
    return [];
  });
}

/** Ends the machine as its lifecycle asks, on the same terms. */
export function endIdle(live: LiveSandbox): Promise<SandboxEvent[]> {
  return rest(live, wantsEnd, async (sandbox, body) => {
    const answer = await changeVm(live.env, sandbox.place.url, sandbox, "end", body);
    // An end whose answer was lost.
    const isGone = answer.type === "refused" && answer.status === 404;
    if (answer.type !== "ok" && !isGone) return notRested(live, answer);
    live.record.apply({ type: "idleEnded" });
    return [];
  });
}

/** Runs `change` once nothing else changes the machine, if its lifecycle still wants that rest. */
function rest(
  { record, lane }: LiveSandbox,
  isWanted: (state: Running) => boolean,
  change: (sandbox: PlacedSandbox, body: { unusedMs: number }) => Promise<SandboxEvent[]>,
): Promise<SandboxEvent[]> {
  return lane.run(async () => {
    const sandbox = record.tick();
    if (!isPlaced(sandbox) || sandbox.state.status !== "running") return [];
    if (!isWanted(sandbox.state)) return [];
    return change(sandbox, { unusedMs: restAfterMs(sandbox.state) });
  });
}

function notRested({ record }: LiveSandbox, answer: NotChanged): SandboxEvent[] {
  const inUse = useBy(answer);
  if (inUse) return [inUse];
  record.apply({ type: "notRested" });
  const { code, message } = notSaved(answer, "paused").refused;
  // A host that cannot pause will not learn it: the machine is kept for a while.
  if (code === "HostCapabilityMissing") return [];
  throw new Error(message);
}
