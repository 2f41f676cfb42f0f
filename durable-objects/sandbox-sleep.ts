import { type Refusal, refusal } from "@svc/contract/errors.ts";
import type { StateRefused } from "@svc/contract/host-protocol/vm-states.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { atMost } from "./deadline.ts";
import type { Place } from "./placement.ts";
import type { StoredSandbox } from "./sandbox-view.ts";
import type { SandboxEvent } from "./states/sandbox.ts";
import { pauseVm, resumeVm, type StateAnswer } from "./vm-client.ts";

/** What a sandbox may take again when it is resumed. */
export interface Admission {
  plan: string;
  cap: number;
}

/** What a change of state came to: the event it is, with facts that came with it, or why it is none. */
export type Change = { event: SandboxEvent; facts: Partial<StoredSandbox> } | Refusal;

/** The refusal of one that is paused and wants to be resumed by whatever needs it. */
export interface Asleep extends Refusal {
  asleep: { org: string };
}

/** Why nothing can be run in it, and whether a resume would help; null when something can. */
export function asleepOrNotRunning(sandbox: StoredSandbox | null): Refusal | Asleep | null {
  const refused = notRunning(sandbox);
  const wantsResume = sandbox?.state.status === "paused" && sandbox.autoResume;
  return refused && wantsResume ? { ...refused, asleep: { org: sandbox.org } } : refused;
}

const isThere = (sandbox: StoredSandbox | null): sandbox is StoredSandbox & { place: Place } =>
  sandbox !== null && sandbox.place !== null;

export const noSandbox = (): Refusal => refusal("NotFound", "There is no such sandbox.");

export const unreachable = (): Refusal =>
  refusal("HostUnreachable", "The machine cannot be reached. Try again.");

/** Why nothing can be run in it; null when something can. */
export function notRunning(sandbox: StoredSandbox | null): Refusal | null {
  switch (sandbox?.state.status) {
    case undefined:
    case "releasing":
    case "gone":
    case "failed":
      return noSandbox();
    case "running":
      return sandbox.state.awaySince === null ? null : unreachable();
    case "paused":
      return refusal("NotRunning", "The sandbox is paused. Resume it.");
    case "starting":
      return refusal("NotRunning", "The sandbox is still starting.");
  }
}

/** Saves a running machine on its host. */
export async function pause(env: Env, sandbox: StoredSandbox | null): Promise<Change> {
  const refused = notRunning(sandbox);
  if (refused || !isThere(sandbox)) return refused ?? noSandbox();
  const answer = await pauseVm(env, sandbox.place.url, sandbox);
  if (answer.type !== "ok") return pauseRefused(answer);
  const { bootId, seq } = answer.value;
  const place = { ...sandbox.place, bootId, seq };
  return { event: { type: "paused", at: Date.now() }, facts: { place } };
}

type Failed = Exclude<StateAnswer<unknown>, { type: "ok" }>;

function pauseRefused(answer: Failed): Refusal {
  if (answer.type === "unreachable") return unreachable();
  const { status, refused } = answer;
  if (refused.code === "HostCapabilityMissing") return lacking();
  if (status === 404 || refused.code === "NotRunning")
    return refusal("NotRunning", "Its host does not know this machine any more.");
  return refusal("HostRejected", "The machine could not be paused. Try again.", hintOf(refused));
}

const lacking = (): Refusal =>
  refusal("HostCapabilityMissing", "Its host cannot pause machines.", {
    missingCapabilities: ["snapshots"],
  });

const hintOf = ({ error }: StateRefused) => ({ hint: error });

/** Lets a paused machine run on, once its org has a place for it. */
export async function resume(
  env: Env,
  sandbox: StoredSandbox | null,
  admission: Admission,
): Promise<Change> {
  const status = sandbox?.state.status;
  if (status === "starting" || status === "running")
    return refusal("NotPaused", "The sandbox is not paused.");
  if (status !== "paused" || !isThere(sandbox)) return noSandbox();
  const refused = await admit(env, sandbox, admission);
  if (refused) return refused;
  const answer = await resumeVm(env, sandbox.place.url, sandbox);
  if (answer.type !== "ok") return resumeRefused(answer);
  const { bootId, seq, cpu, memMb, diskGb } = answer.value;
  const place = { ...sandbox.place, bootId, seq };
  return { event: { type: "resumed" }, facts: { place, cpu, memMb, diskGb } };
}

/** The cap may have filled while it was paused. An org object that fails is no refusal (document 2). */
async function admit(
  env: Env,
  { id, org }: StoredSandbox,
  { plan, cap }: Admission,
): Promise<Refusal | null> {
  const asking = env.ORGS.getByName(org).resumeSandbox(id, cap);
  const answer = await atMost(LIMITS.objectCallMs, asking).catch(() => null);
  if (answer === null || answer.reserved) return null;
  const text = `The ${plan} plan allows ${cap} VMs at once. Release one and try again.`;
  const { holders } = answer;
  return refusal("ConcurrencyLimitExceeded", text, { plan, cap, kind: "vm", holders });
}

function resumeRefused(answer: Failed): Refusal {
  if (answer.type === "unreachable") {
    const hint = "The host that holds it cannot be reached.";
    return refusal("NoCapacity", "The sandbox cannot be resumed right now. Try again.", { hint });
  }
  const { status, refused } = answer;
  switch (refused.code) {
    case "InsufficientCapacity":
    case "NoCapacity":
      return refusal(refused.code, "No room for it right now. Try again.", hintOf(refused));
    case "SnapshotNotRestorable":
    case "UnknownSnapshot":
    case "NotPaused":
    case "NotRunning":
      return notRestorable(refused.error);
    case "HostCapabilityMissing":
    case "ResumeFailed":
    case "SnapshotFailed":
      if (status === 404) return notRestorable(refused.error);
      return refusal("HostRejected", "It could not be resumed. Try again.", hintOf(refused));
  }
}

const notRestorable = (hint: string): Refusal =>
  refusal("SnapshotNotRestorable", "Its host cannot restore this machine.", { hint });
