import { isRefusal, type Refusal, refusal } from "@svc/contract/errors.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { findSnapshot } from "../../control-plane/snapshots.ts";
import { knownHosts } from "../fleet/registry.ts";
import { fitting, holderAway, stillFetching } from "../fleet/restorable.ts";
import { changeVm } from "../host-calls/vm-states.ts";
import { type Admission, admit } from "./admission.ts";
import { applyChange, type Change, factsOfResumed } from "./machine-change.ts";
import { isPlaced, type LiveSandbox, type PlacedSandbox } from "./record.ts";
import {
  noSandbox,
  noSnapshot,
  notResumed,
  notReverted,
  notRunning,
  unreachable,
} from "./refusals.ts";
import { notReady, storeFaultsAsRefusals } from "./snapshot.ts";

/** Which snapshot a sandbox goes back to. */
export interface RevertOrder {
  snapshotId: string;
  admission: Admission;
}

/** Takes a machine back to a snapshot of its own. A paused sandbox takes a place of its org's cap again. */
export function revert(
  live: LiveSandbox,
  order: RevertOrder,
): Promise<{ reverted: true } | Refusal> {
  return live.lane.run(async () => {
    const refused = await applyChange(live, await admitAndRevert(live, order));
    // The place of the cap that it took is free again.
    if (refused) await live.record.do("index");
    return refused ?? { reverted: true };
  });
}

async function admitAndRevert(
  { env, record }: LiveSandbox,
  { snapshotId, admission }: RevertOrder,
): Promise<Change> {
  const sandbox = record.tick();
  const isPaused = sandbox?.state.status === "paused";
  const refused = isPaused ? null : notRunning(sandbox);
  if (refused || !isPlaced(sandbox)) return refused ?? noSandbox();
  const found = await storeFaultsAsRefusals(() => findOwn(env, sandbox, snapshotId));
  if (isRefusal(found)) return found;
  const full = isPaused ? await admit(env, sandbox, admission) : null;
  if (full) return full;
  const { place } = sandbox;
  const ms = found.isElsewhere ? LIMITS.fetchRecordMs : LIMITS.stateChangeMs;
  const answer = await changeVm(env, place.url, sandbox, "revert", { snapshotId }, ms);
  if (answer.type === "unreachable" && answer.isLate && found.isElsewhere) return stillFetching();
  if (answer.type === "unreachable" && !isPaused) return unreachable();
  if (answer.type !== "ok") return isPaused ? notResumed(answer) : notReverted(answer);
  const facts = { ...factsOfResumed(place, answer.value), parentSnapshot: snapshotId };
  const event = isPaused
    ? ({ type: "resumed" } as const)
    : ({ type: "reverted", at: Date.now() } as const);
  return { event, facts };
}

/** Whether a snapshot that a sandbox can go back to lies on another host; or why it cannot. */
async function findOwn(
  env: Env,
  { id, org, kind, place }: PlacedSandbox,
  snapshotId: string,
): Promise<{ isElsewhere: boolean } | Refusal> {
  const snapshot = await findSnapshot(env.DB, org, snapshotId);
  if (!snapshot) return noSnapshot();
  if (snapshot.sandboxId !== id || snapshot.kind !== kind) {
    const text = "snapshotId: it is a snapshot of another machine";
    return refusal("ValidationError", text, { field: "snapshotId" });
  }
  const unready = notReady(snapshot);
  if (unready) return unready;
  const isElsewhere = snapshot.hostId !== place.hostId;
  // The snapshot may get there yet: its host stores it as soon as it can.
  if (isElsewhere && !snapshot.isDurable) return holderAway();
  const own = (await knownHosts(env)).filter(({ hostId }) => hostId === place.hostId);
  const fit = fitting(own, snapshot.platform);
  return isRefusal(fit) ? fit : { isElsewhere };
}
