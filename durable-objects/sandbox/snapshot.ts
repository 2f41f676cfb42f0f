import { isApiError, type Refusal, refusal } from "@svc/contract/errors.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import {
  beginSnapshot,
  failSnapshot,
  finishSnapshot,
  type Snapshot,
} from "../../control-plane/snapshots.ts";
import { planLimit } from "../../control-plane/kept.ts";
import { notRestorable } from "../fleet/restorable.ts";
import { changeVm } from "../host-calls/vm-states.ts";
import { storageFull } from "../org/storage.ts";
import { isPlaced, type LiveSandbox, type PlacedSandbox, type StoredSandbox } from "./record.ts";
import { noSandbox, notRunning, notSaved } from "./refusals.ts";
import { tried } from "../live/tried.ts";

/** A snapshot that is wanted of a sandbox. */
export interface SnapshotOrder {
  id: string;
  name: string;
  metadata: Record<string, string>;
  createdAt: number;
  /** The org's plan, how many snapshots it allows, and how many GiB of all that is kept. */
  plan: string;
  cap: number;
  storedGib: number;
}

type Taken = { snapshot: Snapshot } | Refusal;

/** Takes a snapshot of a machine, running or paused. Its row is in D1 before the host is asked. */
export function snapshot(live: LiveSandbox, order: SnapshotOrder): Promise<Taken> {
  const { env, record, lane } = live;
  return lane.run(async () => {
    const sandbox = record.tick();
    const refused = whyNone(sandbox);
    if (refused || !isPlaced(sandbox)) return refused ?? noSandbox();
    const at = Date.now() + LIMITS.stateChangeMs + LIMITS.hostAnswerMs;
    record.owe("snapshot", at, { taking: order.id });
    try {
      return await storeFaultsAsRefusals(() => take(env, sandbox, order));
    } finally {
      // Without D1 the duty stays owed.
      await tried("snapshot_not_ended_yet", endTaking(live));
    }
  });
}

/** Ends a snapshot whose taking was broken off: it has failed. Throws while that cannot be noted. */
export const breakOff = (live: LiveSandbox): Promise<void> => live.lane.run(() => endTaking(live));

async function endTaking({ env, record }: LiveSandbox): Promise<void> {
  const { taking } = record.load() ?? {};
  // It changes nothing of a snapshot that was taken.
  if (taking) await failSnapshot(env.DB, taking, Date.now());
  record.note({ taking: null });
  record.tickOff("snapshot");
}

async function take(
  env: Env,
  sandbox: PlacedSandbox,
  { plan, cap, storedGib, ...order }: SnapshotOrder,
): Promise<Taken> {
  const { id: sandboxId, org, kind, template, cpu, memMb, diskGb, place } = sandbox;
  const facts = { org, kind, sandboxId, template, cpu, memMb, diskGb, hostId: place.hostId };
  const { parentSnapshot: parentId = null, fromSnapshot: forkOf } = sandbox;
  const full = await storageFull(env, { org, plan, storedGib });
  if (full) return full;
  const isBegun = await beginSnapshot(env.DB, { ...order, ...facts, parentId, forkOf }, cap);
  if (!isBegun) return planLimit("snapshot", { plan, cap });
  const answer = await changeVm(env, place.url, sandbox, "snapshot", { snapshotId: order.id });
  if (answer.type !== "ok") return notSaved(answer, "kept");
  const taken = await finishSnapshot(env.DB, org, answer.value);
  return taken ? { snapshot: taken } : noSandbox();
}

/** Runs work on a store: a store that fails is a refusal, not a fault of this object. */
export async function storeFaultsAsRefusals<T>(work: () => Promise<T>): Promise<T | Refusal> {
  try {
    return await work();
  } catch (error) {
    if (!isApiError(error)) throw error;
    return refusal(error.code, error.message, error.context);
  }
}

/** Why no snapshot of a sandbox can be taken; null when one can. */
function whyNone(sandbox: StoredSandbox | null): Refusal | null {
  const refused = sandbox?.state.status === "paused" ? null : notRunning(sandbox);
  if (refused?.refused.code === "NotFound" || sandbox?.isolation !== "shared") return refused;
  const text = "isolation: a share of a machine has no snapshots";
  return refusal("ValidationError", text, { field: "isolation" });
}

/** Why nothing can begin from a snapshot yet, or ever. */
export function notReady({ state }: Snapshot): Refusal | null {
  if (state === "failed") return notRestorable("The snapshot could not be taken.");
  if (state === "ready") return null;
  return refusal("SnapshotNotReady", "The snapshot is still being taken. Try again.");
}
