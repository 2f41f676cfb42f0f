import { isApiError, isRefusal, type Refusal, refusal } from "@svc/contract/errors.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import {
  beginSnapshot,
  failSnapshot,
  findSnapshot,
  finishSnapshot,
  type Snapshot,
} from "../../control-plane/snapshots.ts";
import { registeredHosts } from "../fleet.ts";
import type { Place } from "../session/find-slot.ts";
import { fitting, holderAway, notRestorable, stillFetching } from "../fleet/restorable.ts";
import type { SandboxLife } from "../live/live-record.ts";
import { resumeRefused } from "./resume.ts";
import {
  type Admission,
  admit,
  type Change,
  isThere,
  noSandbox,
  notRunning,
  notSaved,
  unreachable,
} from "./pause.ts";
import type { StoredSandbox } from "./record.ts";
import { actOnVm } from "../host-calls/vm-states.ts";

/** A snapshot that is wanted of a sandbox. */
export interface SnapshotOrder {
  id: string;
  name: string;
  metadata: Record<string, string>;
  createdAt: number;
  /** The org's plan, and how many snapshots it allows. */
  plan: string;
  cap: number;
}

type Kept = { snapshot: Snapshot } | Refusal;

/** Takes a snapshot of a machine that runs or is paused. It is on record before its host is asked. */
export async function takeSnapshot(
  env: Env,
  life: SandboxLife,
  order: SnapshotOrder,
): Promise<Kept> {
  const sandbox = life.tick();
  const refused = whyNotKept(sandbox);
  if (refused || !sandbox || !isThere(sandbox)) return refused ?? noSandbox();
  const at = Date.now() + LIMITS.stateChangeMs + LIMITS.hostAnswerMs;
  life.store.owe("snapshot", at, { taking: order.id });
  try {
    return await knownFaults(() => take(env, sandbox, order));
  } finally {
    // Without D1 it stays owed.
    await breakOff(env, life).catch(() => undefined);
  }
}

/** Whatever is still being taken was broken off: it has failed. Throws while that cannot be noted. */
export async function breakOff(env: Env, life: SandboxLife): Promise<void> {
  const { taking } = life.load() ?? {};
  // Of one that was taken it changes nothing.
  if (taking) await failSnapshot(env.DB, taking, Date.now());
  const sandbox = life.load();
  if (!sandbox) return;
  life.store.save({ ...sandbox, taking: null });
  life.store.done("snapshot", sandbox);
}

async function take(
  env: Env,
  sandbox: StoredSandbox & { place: Place },
  { plan, cap, ...order }: SnapshotOrder,
): Promise<Kept> {
  const { id: sandboxId, org, kind, template, cpu, memMb, diskGb, place } = sandbox;
  const facts = { org, kind, sandboxId, template, cpu, memMb, diskGb, hostId: place.hostId };
  const { parentSnapshot: parentId = null, fromSnapshot: forkOf } = sandbox;
  const isBegun = await beginSnapshot(env.DB, { ...order, ...facts, parentId, forkOf }, cap);
  if (!isBegun) return capped(plan, cap);
  const wish = { snapshotId: order.id };
  const answer = await actOnVm(env, place.url, sandbox, "snapshot", wish);
  if (answer.type !== "ok") return notSaved(answer, "kept");
  const snapshot = await finishSnapshot(env.DB, org, answer.value);
  return snapshot ? { snapshot } : noSandbox();
}

function capped(plan: string, cap: number): Refusal {
  const text = `The ${plan} plan allows ${cap} snapshots. Delete one and try again.`;
  return refusal("PlanLimitExceeded", text, { plan, cap, kind: "snapshot" });
}

/** A store that fails is a refusal, not a fault of this object. */
async function knownFaults<T>(work: () => Promise<T>): Promise<T | Refusal> {
  try {
    return await work();
  } catch (error) {
    if (!isApiError(error)) throw error;
    return refusal(error.code, error.message, error.context);
  }
}

function whyNotKept(sandbox: StoredSandbox | null): Refusal | null {
  const refused = sandbox?.state.status === "paused" ? null : notRunning(sandbox);
  if (refused?.refused.code === "NotFound" || sandbox?.isolation !== "shared") return refused;
  const text = "isolation: a share of a machine has no snapshots";
  return refusal("ValidationError", text, { field: "isolation" });
}

/** What a sandbox is to become again. */
export interface RevertOrder {
  snapshotId: string;
  admission: Admission;
}

/** Lets a machine go on from a snapshot of its own; one that is paused takes a place of its org again. */
export async function revert(
  env: Env,
  sandbox: StoredSandbox | null,
  { snapshotId, admission }: RevertOrder,
): Promise<Change> {
  const isPaused = sandbox?.state.status === "paused";
  const refused = isPaused ? null : notRunning(sandbox);
  if (refused || !sandbox || !isThere(sandbox)) return refused ?? noSandbox();
  const found = await knownFaults(() => findOwn(env, sandbox, snapshotId));
  if (isRefusal(found)) return found;
  const full = isPaused ? await admit(env, sandbox, admission) : null;
  if (full) return full;
  const { place } = sandbox;
  const ms = found.isElsewhere ? LIMITS.fetchRecordMs : LIMITS.stateChangeMs;
  const answer = await actOnVm(env, place.url, sandbox, "revert", { snapshotId }, ms);
  if (answer.type === "unreachable" && answer.isLate && found.isElsewhere) return stillFetching();
  if (answer.type === "unreachable" && !isPaused) return unreachable();
  if (answer.type !== "ok") return resumeRefused(answer);
  const { bootId, seq, cpu, memMb, diskGb } = answer.value;
  const facts = {
    place: { ...place, bootId, seq },
    cpu,
    memMb,
    diskGb,
    record: null,
    movingTo: null,
  };
  const event = isPaused
    ? ({ type: "resumed" } as const)
    : ({ type: "reverted", at: Date.now() } as const);
  return { event, facts: { ...facts, parentSnapshot: snapshotId } };
}

/** Whether a snapshot that a sandbox can become lies on another host; or why it cannot. */
async function findOwn(
  env: Env,
  { id, org, kind, place }: StoredSandbox & { place: Place },
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
  // It may get there yet: its host stores it as soon as it can.
  if (isElsewhere && !snapshot.isDurable) return holderAway();
  const hosts = (await registeredHosts(env).catch(() => [])).filter(
    ({ hostId }) => hostId === place.hostId,
  );
  const able = fitting(hosts, snapshot.platform);
  return isRefusal(able) ? able : { isElsewhere };
}

export const noSnapshot = (): Refusal => refusal("NotFound", "There is no such snapshot.");

/** Why nothing can begin from a snapshot yet, or ever. */
export function notReady({ state }: Snapshot): Refusal | null {
  if (state === "failed") return notRestorable("The snapshot could not be taken.");
  if (state === "ready") return null;
  return refusal("SnapshotNotReady", "The snapshot is still being taken. Try again.");
}
