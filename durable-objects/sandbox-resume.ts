import type { HostRecord } from "@svc/contract/admin/hosts.ts";
import { isRefusal, type Refusal, refusal } from "@svc/contract/errors.ts";
import type { VmResumed } from "@svc/contract/host-protocol/vm-states.ts";
import { registeredHosts } from "./fleet.ts";
import type { Place } from "./placement.ts";
import { holderAway, notRestorable, restorers } from "./restorable.ts";
import {
  type Admission,
  admit,
  type Change,
  type Failed,
  hintOf,
  isThere,
  noSandbox,
} from "./sandbox-sleep.ts";
import type { StoredSandbox } from "./sandbox-view.ts";
import { actOnVm } from "./vm-states-client.ts";

/** As many other hosts are asked. */
const mostAsked = 4;

/** Lets a paused machine run on, once its org has a place for it: where it is, else on another host. */
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
  const resumed = await resumeSomewhere(env, sandbox);
  if (isRefusal(resumed)) return resumed;
  const { place, got } = resumed;
  const { cpu, memMb, diskGb } = got;
  return { event: { type: "resumed" }, facts: { place, cpu, memMb, diskGb, record: null } };
}

type Resumed = { place: Place; got: VmResumed } | Refusal;

async function resumeSomewhere(
  env: Env,
  sandbox: StoredSandbox & { place: Place },
): Promise<Resumed> {
  const { record, place, kind } = sandbox;
  const isMovable = record?.isDurable === true;
  const hosts = isMovable ? await registeredHosts(env).catch(() => []) : [];
  const isAway = isMovable && !hosts.some(({ hostId }) => hostId === place.hostId);
  // A host that is known to be away would only be waited for.
  const answer = isAway
    ? ({ type: "unreachable" } as const)
    : await actOnVm(env, place.url, sandbox, "resume");
  if (answer.type === "ok") return { place: placeOf(place, answer.value), got: answer.value };
  const others = restorers(hosts, kind).filter(({ hostId }) => hostId !== place.hostId);
  const elsewhere = record && (await resumeElsewhere(env, sandbox, record.id, others));
  return elsewhere ?? resumeRefused(answer);
}

/** Another host fetches the record. The first that has it going is where the machine is from now on. */
async function resumeElsewhere(
  env: Env,
  sandbox: StoredSandbox,
  recordId: string,
  hosts: readonly HostRecord[],
): Promise<Resumed | null> {
  const emptiest = hosts.toSorted((a, b) => (b.free?.memMb ?? 0) - (a.free?.memMb ?? 0));
  for (const host of emptiest.slice(0, mostAsked)) {
    const answer = await actOnVm(env, host.url, sandbox, "resume", { recordId });
    if (answer.type === "ok") return { place: placeOf(host, answer.value), got: answer.value };
  }
  return null;
}

const placeOf = ({ hostId, url }: Pick<Place, "hostId" | "url">, got: VmResumed): Place => {
  const { bootId, seq } = got;
  return { hostId, url, bootId, seq };
};

/** Why a saved machine does not run on. */
export function resumeRefused(answer: Failed): Refusal {
  if (answer.type === "unreachable") return holderAway();
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
