import type { HostRecord } from "@svc/contract/admin/hosts.ts";
import { isRefusal, type Refusal, refusal } from "@svc/contract/errors.ts";
import type { VmResumed } from "@svc/contract/host-protocol/vm-states.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { registeredHosts } from "../fleet.ts";
import type { Place } from "../session/find-slot.ts";
import {
  fitting,
  holderAway,
  notRestorable,
  restorers,
  stillFetching,
} from "../fleet/restorable.ts";
import {
  type Admission,
  admit,
  type Change,
  type Failed,
  hintOf,
  isThere,
  noSandbox,
} from "./pause.ts";
import type { StoredSandbox } from "./record.ts";
import { actOnVm } from "../host-calls/vm-states.ts";

/** As many other hosts are asked. */
const mostAsked = 4;

/** Lets a paused machine run on, once its org has a place for it: where it is, else on another host. */
export async function resume(
  env: Env,
  sandbox: StoredSandbox | null,
  admission: Admission,
  onMove: OnMove,
): Promise<Change> {
  const status = sandbox?.state.status;
  if (status === "starting" || status === "running")
    return refusal("NotPaused", "The sandbox is not paused.");
  if (status !== "paused" || !isThere(sandbox)) return noSandbox();
  const refused = await admit(env, sandbox, admission);
  if (refused) return refused;
  const resumed = await resumeSomewhere(env, sandbox, onMove);
  if (isRefusal(resumed)) return resumed;
  const { place, got } = resumed;
  const { cpu, memMb, diskGb } = got;
  return { event: { type: "resumed" }, facts: { place, cpu, memMb, diskGb, ...AWAKE } };
}

/** Notes, before a host is asked to fetch it, that it may be there from now on. */
export type OnMove = (hostId: string) => void;

/** What is no longer true of one that runs. */
const AWAKE = { record: null, movingTo: null };

type Resumed = { place: Place; got: VmResumed } | Refusal;

async function resumeSomewhere(
  env: Env,
  sandbox: StoredSandbox & { place: Place },
  onMove: OnMove,
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
  // Where it cannot go on it is not tried. Its own host may be back yet: that is no refusal for good.
  const fit = fitting(others, record?.platform ?? null);
  if (!record || isRefusal(fit)) return resumeRefused(answer);
  const move = { recordId: record.id, onMove, hosts: fit.hosts };
  return (await resumeElsewhere(env, sandbox, move)) ?? resumeRefused(answer);
}

/** Another host fetches the record. The first that has it going is where the machine is from now on. */
async function resumeElsewhere(
  env: Env,
  sandbox: StoredSandbox,
  { recordId, onMove, hosts }: { recordId: string; onMove: OnMove; hosts: HostRecord[] },
): Promise<Resumed | null> {
  // One that was asked before may be at it still: a repeat joins that.
  const isAtIt = ({ hostId }: HostRecord): number => (hostId === sandbox.movingTo ? 1 : 0);
  const likeliest = hosts.toSorted((a, b) => isAtIt(b) - isAtIt(a) || freeOf(b) - freeOf(a));
  for (const host of likeliest.slice(0, mostAsked)) {
    onMove(host.hostId);
    const { fetchRecordMs } = LIMITS;
    const answer = await actOnVm(env, host.url, sandbox, "resume", { recordId }, fetchRecordMs);
    if (answer.type === "ok") return { place: placeOf(host, answer.value), got: answer.value };
    // It may have it going yet, and tell so: asking another one would make two of it.
    if (answer.type === "unreachable") return answer.isLate ? stillFetching() : holderAway();
  }
  return null;
}

const freeOf = ({ free }: HostRecord): number => free?.memMb ?? 0;

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
