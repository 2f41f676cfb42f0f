import { type Refusal, refusal } from "@svc/contract/errors.ts";
import type { StateRefused } from "@svc/contract/host-protocol/vm-states.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { atMost } from "../live/deadline.ts";
import { registeredHosts } from "../fleet.ts";
import type { Place } from "../session/find-slot.ts";
import type { SavedRecord, StoredSandbox } from "./record.ts";
import type { SandboxEvent } from "./state.ts";
import { actOnVm, type StateAnswer } from "../host-calls/vm-states.ts";

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

export const isThere = (
  sandbox: StoredSandbox | null,
): sandbox is StoredSandbox & { place: Place } => sandbox !== null && sandbox.place !== null;

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
  const answer = await actOnVm(env, sandbox.place.url, sandbox, "pause");
  if (answer.type !== "ok") return notSaved(answer, "paused");
  const { bootId, seq, recordId: id, durable: isDurable = false } = answer.value;
  const place = { ...sandbox.place, bootId, seq };
  const record = await recordAt(env, place, id, isDurable);
  return { event: { type: "paused", at: Date.now(), isDurable }, facts: { place, record } };
}

/** A record that a host has just made: it can go on under what that host runs on. */
export async function recordAt(
  env: Env,
  { hostId }: Pick<Place, "hostId">,
  id: string | undefined,
  isDurable: boolean,
): Promise<SavedRecord | null> {
  if (id === undefined) return null;
  const hosts = await atMost(LIMITS.objectCallMs, registeredHosts(env)).catch(() => []);
  const platform = hosts.find((host) => host.hostId === hostId)?.platform ?? null;
  return { id, isDurable, platform };
}

export type Failed = Exclude<StateAnswer<unknown>, { type: "ok" }>;

/** Why a machine was not saved. */
export function notSaved(answer: Failed, what: "paused" | "kept"): Refusal {
  if (answer.type === "unreachable") return unreachable();
  const { status, refused } = answer;
  if (refused.code === "HostCapabilityMissing") return lacking();
  if (status === 404 || refused.code === "NotRunning")
    return refusal("NotRunning", "Its host does not know this machine any more.");
  return refusal("HostRejected", `The machine could not be ${what}. Try again.`, hintOf(refused));
}

const lacking = (): Refusal =>
  refusal("HostCapabilityMissing", "Its host cannot save machines.", {
    missingCapabilities: ["snapshots"],
  });

export const hintOf = ({ error }: StateRefused) => ({ hint: error });

/** The cap may have filled while it was paused. An org object that fails is no refusal (document 2). */
export async function admit(
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
