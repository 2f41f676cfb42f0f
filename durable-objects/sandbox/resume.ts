import type { HostRecord } from "@svc/contract/admin/hosts.ts";
import { isRefusal, type Refusal, refusal } from "@svc/contract/errors.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { knownHosts } from "../fleet/registry.ts";
import {
  byRank,
  emptiest,
  fitting,
  holderAway,
  hostsWith,
  restoring,
  stillFetching,
} from "../fleet/restorable.ts";
import { changeVm } from "../host-calls/vm-states.ts";
import { type Admission, admit } from "./admission.ts";
import { applyChange, type Change, factsOfResumed } from "./machine-change.ts";
import { isPlaced, type LiveSandbox, type PlacedSandbox } from "./record.ts";
import { noSandbox, notResumed } from "./refusals.ts";

/** As many other hosts are asked. */
const mostAsked = 4;

/** Lets a paused machine run on, once its org has a place for it: where it is, else on another host. */
export function resume(
  live: LiveSandbox,
  admission: Admission,
): Promise<{ resumed: true } | Refusal> {
  return live.lane.run(async () => {
    const refused = await applyChange(live, await admitAndResume(live, admission));
    // The place of the cap that it took is free again.
    if (refused) await live.record.do("index");
    return refused ?? { resumed: true };
  });
}

async function admitAndResume(live: LiveSandbox, admission: Admission): Promise<Change> {
  const sandbox = live.record.tick();
  const status = sandbox?.state.status;
  if (status === "starting" || status === "running")
    return refusal("NotPaused", "The sandbox is not paused.");
  if (status !== "paused" || !isPlaced(sandbox)) return noSandbox();
  return (await admit(live.env, sandbox, admission)) ?? resumeSomewhere(live, sandbox);
}

async function resumeSomewhere(live: LiveSandbox, sandbox: PlacedSandbox): Promise<Change> {
  const { record, place, kind } = sandbox;
  const { env } = live;
  const isMovable = record?.isDurable === true;
  const hosts = isMovable ? await knownHosts(env) : [];
  const isAway = isMovable && !hosts.some(({ hostId }) => hostId === place.hostId);
  // A host that is known to be away would only be waited for.
  const answer = isAway
    ? ({ type: "unreachable" } as const)
    : await changeVm(env, place.url, sandbox, "resume");
  if (answer.type === "ok")
    return { event: { type: "resumed" }, facts: factsOfResumed(place, answer.value) };
  const others = hostsWith(hosts, restoring(kind)).filter(({ hostId }) => hostId !== place.hostId);
  // Hosts that cannot resume it are not tried. Its own host may be back yet: that is no refusal for good.
  const fit = fitting(others, record?.platform ?? null);
  if (!record || isRefusal(fit)) return notResumed(answer);
  const elsewhere = await resumeElsewhere(live, sandbox, record.id, fit.hosts);
  return elsewhere ?? notResumed(answer);
}

/** Has another host fetch the record. The machine is at the first that resumes it. Null when all of them refuse. */
async function resumeElsewhere(
  { env, record }: LiveSandbox,
  sandbox: PlacedSandbox,
  recordId: string,
  hosts: HostRecord[],
): Promise<Change | null> {
  // A host that was asked before may be at it still: a repeat joins that.
  const likeliest = byRank((host) => [host.hostId === sandbox.movingTo ? 1 : 0, ...emptiest(host)]);
  for (const host of hosts.toSorted(likeliest).slice(0, mostAsked)) {
    // Noted before the host is asked: an answer that is lost may have been a yes.
    record.note({ movingTo: host.hostId });
    const ms = LIMITS.fetchRecordMs;
    const answer = await changeVm(env, host.url, sandbox, "resume", { recordId }, ms);
    if (answer.type === "ok")
      return { event: { type: "resumed" }, facts: factsOfResumed(host, answer.value) };
    // It may have resumed the machine, and will tell so: asking another host would make two of it.
    if (answer.type === "unreachable") return answer.isLate ? stillFetching() : holderAway();
  }
  return null;
}
