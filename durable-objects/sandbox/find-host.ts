import type { HostRecord } from "@svc/contract/admin/hosts.ts";
import { isRefusal, type Refusal, refusal } from "@svc/contract/errors.ts";
import type { PlaceVm, VmPlaced, VmRefused } from "@svc/contract/host-protocol/vms.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { copyOf } from "../../control-plane/record-copies.ts";
import { knownHosts } from "../fleet/registry.ts";
import {
  byRank,
  emptiest,
  hasImage,
  isBuildingImage,
  holderAway,
  hostsFor,
  hostsWith,
  notRestorable,
  openVmHosts,
  stillFetching,
} from "../fleet/restorable.ts";
import { type Place, placeAt } from "../host-calls/place.ts";
import type { PlaceVmAnswer } from "../host-calls/vms.ts";
import { atMost } from "../live/deadline.ts";
import { type Attempted, VmAttempts, type VmSeeker } from "./attempts.ts";

export type VmPlacement = { place: Place; got: VmPlaced } | Refusal;

/** As many hosts are asked; the fleet's record of the others says that they cannot. */
const mostAsked = 5;

/**
 * Finds a host for a machine: asks the hosts that can make it, the likeliest first. What the fleet knows may be seconds
 * old, so that a host that looks full is asked too: the host decides, in its own words. A host that says nothing does not
 * use up the time of the others: a free host is asked beside it, and the first machine counts.
 */
export async function findVmHost(env: Env, seeker: VmSeeker): Promise<VmPlacement> {
  const { hosts: able, missing } = await hostsOf(env, seeker.body);
  const { origin = { saved: null, platform: null } } = seeker;
  const choice = hostsFor(able, origin);
  if (isRefusal(choice)) return choice;
  const { hosts } = choice;
  if (origin.saved && able.length > 0 && hosts.length === 0) return holderAway();
  if (hosts.length === 0) return noHost(seeker.body, missing);
  const attempts = new VmAttempts(env, seeker);
  try {
    const ordered = await fetchersFirst(env, seeker, hosts, attempts);
    return await firstPlaced(attempts, ordered.slice(0, mostAsked), seeker.body);
  } finally {
    attempts.close();
  }
}

/** Of hosts that have to fetch what the machine begins from, the host first that was asked to before: it has fetched most of it. */
async function fetchersFirst(
  env: Env,
  { body: { source } }: VmSeeker,
  hosts: HostRecord[],
  attempts: VmAttempts,
): Promise<HostRecord[]> {
  const others = hosts.filter((host) => !attempts.holds(host));
  if (source.type === "image" || others.length < 2) return hosts;
  const asking = copyOf(env.DB, source.id, Date.now());
  const known = await atMost(LIMITS.objectCallMs, asking).catch(() => null);
  const holders = hosts.filter((host) => attempts.holds(host));
  return [...holders, ...others.toSorted(byRank(({ hostId }) => [hostId === known ? 1 : 0]))];
}

async function firstPlaced(
  attempts: VmAttempts,
  hosts: HostRecord[],
  body: PlaceVm,
): Promise<VmPlacement> {
  const answers: NotPlaced[] = [];
  for (const [at, host] of hosts.entries()) {
    if (!attempts.isWorthIt) break;
    attempts.begin(host);
    const another = hosts[at + 1];
    // A fetch takes long, and a second fetch beside it no less.
    const isHasty = another && attempts.holds(host) && hasCapacity(another, body);
    const came = await attempts.next(isHasty ? attempts.patienceMs : Infinity);
    if (came?.answer.type === "placed") return placedOn(came.host, came.answer.got);
    if (came) answers.push(notPlaced(came.answer, came));
    // One host builds the image: the others need not begin as well.
    if (came && isUnbuilt(came.answer)) break;
  }
  for (let came = await attempts.next(); came; came = await attempts.next()) {
    if (came.answer.type === "placed") return placedOn(came.host, came.answer.got);
    answers.push(notPlaced(came.answer, came));
  }
  return refusalOf(answers, body);
}

const isUnbuilt = (answer: PlaceVmAnswer): boolean =>
  answer.type === "refused" && answer.refused.code === "TemplateNotReady";

/** `fetching`: the host was still fetching when the time was over. */
type NotPlaced = Exclude<PlaceVmAnswer, { type: "placed" }> | { type: "fetching" };

function notPlaced(
  answer: Exclude<PlaceVmAnswer, { type: "placed" }>,
  { isFetching }: Attempted,
): NotPlaced {
  const isLate = answer.type === "unreachable" && answer.isLate === true;
  return isFetching && isLate ? { type: "fetching" } : answer;
}

const placedOn = (host: HostRecord, got: VmPlaced): VmPlacement => ({
  place: placeAt(host, got),
  got,
});

/** VM hosts that take such machines, the likeliest first; when none does, what all of them lack. */
async function hostsOf(env: Env, body: PlaceVm) {
  // Without the registry there is nobody to ask.
  const registered = await knownHosts(env);
  const needed = neededBy(body);
  const hosts = hostsWith(registered, needed).toSorted(byRank(likelihood(body)));
  const lacks = (host: HostRecord) => needed.filter((name) => !host.capabilities?.includes(name));
  const missing = hosts.length === 0 ? openVmHosts(registered).flatMap(lacks) : [];
  return { hosts, missing: [...new Set(missing)] };
}

/** Capabilities that a machine needs of its host. */
function neededBy({ kind, source, isolation, volumes, record }: PlaceVm): string[] {
  return [
    kind === "desktop" ? ["desktop"] : [],
    source.type === "snapshot" ? ["snapshots"] : [],
    isolation === "shared" ? ["isolation.shared"] : [],
    volumes?.length ? ["volumes.mount"] : [],
    record ? ["recording"] : [],
  ].flat();
}

const hasCapacity = ({ free }: HostRecord, { cpu, memMb }: PlaceVm): boolean =>
  free !== undefined && free.slots > 0 && free.cpu >= cpu && free.memMb >= memMb;

/**
 * Hosts that hold the template first, then hosts with free capacity and the image, then those that build it, then with a
 * warm machine, then the emptiest.
 */
function likelihood(body: PlaceVm) {
  const { source } = body;
  return (host: HostRecord): number[] => {
    const isReady = source.type !== "image" || hasImage(host, source.name);
    const holds = source.type === "snapshot" && host.templates?.includes(source.id);
    const isFit = hasCapacity(host, body) && isReady;
    const builds = source.type === "image" && isBuildingImage(host, source.name);
    const merits = [holds, isFit, builds, (host.warm ?? 0) > 0];
    return [...merits.map((has) => (has ? 1 : 0)), ...emptiest(host)];
  };
}

/** No host can even be asked. An entitled org gets no desktop for want of capacity (decisions), recorded or not. */
function noHost({ kind }: PlaceVm, missing: string[]): Refusal {
  const ofDesktops = missing.includes("desktop") ? ["desktop", "recording"] : [];
  const others = missing.filter((name) => !ofDesktops.includes(name));
  if (others.length > 0) return lacking(others);
  const hint =
    kind === "desktop"
      ? "No registered VM host serves desktops."
      : "No registered VM host takes machines. npm start says what a host needs.";
  return refusal("NoCapacity", "No host has capacity right now. Try again.", { hint });
}

function lacking(missingCapabilities: string[]): Refusal {
  const text = `No host can do this yet: ${missingCapabilities.join(", ")}.`;
  return refusal("HostCapabilityMissing", text, { missingCapabilities });
}

/** The refusal, of several, that best says what would help. */
function refusalOf(answers: NotPlaced[], { source }: PlaceVm): Refusal {
  if (answers.some(({ type }) => type === "fetching")) return stillFetching();
  const refused = answers.flatMap((answer) => (answer.type === "refused" ? [answer.refused] : []));
  const saying = (code: VmRefused["code"]) => refused.find((one) => one.code === code);
  const small = saying("InsufficientCapacity");
  if (small) {
    const hint = small.hint ?? "Ask for less, or release a sandbox.";
    const text = "No host has capacity for this size right now. Try again.";
    return refusal("InsufficientCapacity", text, { hint });
  }
  const full = saying("NoCapacity");
  if (full) {
    const text = "No host has capacity right now. Try again.";
    return refusal("NoCapacity", text, { hint: full.hint ?? full.error });
  }
  const unbuilt = saying("TemplateNotReady");
  if (unbuilt) {
    const text = "The template is not ready: its image is built on first use.";
    return refusal("TemplateNotReady", text, { hint: unbuilt.hint ?? unbuilt.error });
  }
  const busy = saying("VolumeBusy");
  if (busy) {
    const text = "A volume cannot be attached right now. Try again.";
    return refusal("VolumeStatusUnknown", text, { hint: busy.error });
  }
  const unable = saying("HostCapabilityMissing");
  if (unable) return lacking(unable.missingCapabilities ?? []);
  const taken = saying("VolumePathTaken");
  if (taken) return refusal("ValidationError", `volumes: ${taken.error}`, { field: "volumes" });
  const foreign = saying("SnapshotNotRestorable");
  if (foreign) return notRestorable(foreign.error);
  const unknown = saying("UnknownSnapshot");
  // Only its hosts know that they have a template: a host that is away may come back.
  const isTemplate = source.type === "snapshot" && source.id.startsWith("tpl_");
  if (unknown) return isTemplate ? holderAway() : notRestorable(unknown.error);
  const text = "The host could not make the machine. Try again.";
  const [other] = refused;
  return refusal("HostRejected", text, other ? { hint: other.error } : {});
}
