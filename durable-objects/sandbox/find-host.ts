import type { HostRecord } from "@svc/contract/admin/hosts.ts";
import { isRefusal, type Refusal, refusal } from "@svc/contract/errors.ts";
import type { HostPlatform } from "@svc/contract/host-protocol/vm-states.ts";
import type { PlaceVm, VmPlaced, VmRefused } from "@svc/contract/host-protocol/vms.ts";
import { copyOf } from "../../control-plane/record-copies.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { atMost } from "../live/deadline.ts";
import { registeredHosts } from "../fleet.ts";
import type { Subject } from "../host-calls/slots.ts";
import type { Place } from "../session/find-slot.ts";
import {
  fitting,
  holderAway,
  hostsFor,
  notRestorable,
  type SavedMachine,
  stillFetching,
} from "../fleet/restorable.ts";
import { type Attempted, VmAttempts } from "./attempts.ts";
import type { PlaceVmAnswer } from "../host-calls/vms.ts";

/** A sandbox looking for a host. */
export interface VmSeeker {
  subject: Subject;
  body: PlaceVm;
  /** How long it may take, in ms. */
  acquireMs: number;
  /** The snapshot that it goes on from. */
  saved?: SavedMachine;
  /** What the template that it goes on from can run on, as far as that is known. */
  platform?: HostPlatform | null;
  /** How long a host may take that has to fetch what it goes on from, in ms; `LIMITS.fetchForkMs` unless it is said. */
  fetchMs?: number;
  /** Whether it is still wanted: a DELETE may come first. */
  isWanted(): boolean;
  /** A host is at work on it: there is time for what need not be done before. */
  onAsked?(): void;
}
export type VmPlacement = { place: Place; got: VmPlaced } | Refusal;

/** As many hosts are asked; the fleet's record of the others says that they cannot. */
const mostAsked = 5;

/**
 * Finds a host for a machine: asks those that can make it, the likeliest first. What the fleet knows may
 * be seconds old, so that a host that looks full is asked too: it decides, in its own words. One that says
 * nothing does not use up the time of the others: a free one is asked beside it, and the first machine counts.
 */
export async function findVmHost(env: Env, seeker: VmSeeker): Promise<VmPlacement> {
  const { hosts: able, missing } = await hostsOf(env, seeker.body);
  const { saved } = seeker;
  const choice =
    saved && able.length > 0 ? hostsFor(able, saved) : fitting(able, seeker.platform ?? null);
  if (isRefusal(choice)) return choice;
  const { hosts } = choice;
  if (saved && able.length > 0 && hosts.length === 0) return holderAway();
  if (hosts.length === 0) return noHost(seeker.body, missing);
  const attempts = new VmAttempts(env, seeker);
  try {
    const ordered = await fetchersFirst(env, seeker, hosts, attempts);
    return await firstPlaced(attempts, ordered.slice(0, mostAsked), seeker.body);
  } finally {
    attempts.close();
  }
}

/** Of hosts that have to fetch what it begins from, the one first that was asked to before: it has it, or most of it. */
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
  const at = ({ hostId }: HostRecord): number => (hostId === known ? 0 : 1);
  const holders = hosts.filter((host) => attempts.holds(host));
  return [...holders, ...others.toSorted((left, right) => at(left) - at(right))];
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
    // To fetch takes long, and to fetch it twice takes no less.
    const isHasty = another && attempts.holds(host) && hasRoom(another, body);
    const came = await attempts.next(isHasty ? attempts.patienceMs : Infinity);
    if (came?.answer.type === "placed") return placedOn(came.host, came.answer.got);
    if (came) answers.push(notPlaced(came.answer, came));
  }
  for (let came = await attempts.next(); came; came = await attempts.next()) {
    if (came.answer.type === "placed") return placedOn(came.host, came.answer.got);
    answers.push(notPlaced(came.answer, came));
  }
  return refusalOf(answers, body);
}

/** `fetching`: it was still at that when the time was over. */
type NotPlaced = Exclude<PlaceVmAnswer, { type: "placed" }> | { type: "fetching" };

function notPlaced(
  answer: Exclude<PlaceVmAnswer, { type: "placed" }>,
  { isFetching }: Attempted,
): NotPlaced {
  const isLate = answer.type === "unreachable" && answer.isLate === true;
  return isFetching && isLate ? { type: "fetching" } : answer;
}

function placedOn({ hostId, url }: HostRecord, got: VmPlaced): VmPlacement {
  const { bootId, seq } = got;
  return { place: { hostId, url, bootId, seq }, got };
}

/** VM hosts that take machines of this sort, and what the others lack when there are only others. */
async function hostsOf(env: Env, body: PlaceVm) {
  // Without the registry there is nobody to ask.
  const registered = await registeredHosts(env).catch(() => []);
  const open = registered.filter((host) => host.type === "vm" && !host.draining);
  const needed = neededBy(body);
  const lacks = (host: HostRecord) => needed.filter((name) => !host.capabilities?.includes(name));
  const hosts = open.filter((host) => lacks(host).length === 0);
  const missing = open.length > 0 && hosts.length === 0 ? open.flatMap(lacks) : [];
  return { hosts: hosts.toSorted(likelier(body)), missing: [...new Set(missing)] };
}

/** What only some hosts can do, by the names of their registrations. */
export function neededBy({ kind, source, isolation, volumes, record }: PlaceVm): string[] {
  return [
    kind === "desktop" ? ["desktop"] : [],
    source.type === "snapshot" ? ["snapshots"] : [],
    isolation === "shared" ? ["isolation.shared"] : [],
    volumes?.length ? ["volumes.mount"] : [],
    record ? ["recording"] : [],
  ].flat();
}

const hasRoom = ({ free }: HostRecord, { cpu, memMb }: PlaceVm): boolean =>
  free !== undefined && free.slots > 0 && free.cpu >= cpu && free.memMb >= memMb;

/** Hosts that hold the template first, then those with room and the image, then those with a warm machine, then the emptiest. */
function likelier(body: PlaceVm) {
  const rank = (host: HostRecord): number[] => {
    const { free, images = [], warm = 0 } = host;
    const { source } = body;
    const hasImage =
      source.type !== "image" ||
      images.some(({ name, state }) => name === source.name && state === "ready");
    const holds = source.type === "snapshot" && host.templates?.includes(source.id);
    const isFit = hasRoom(host, body) && hasImage;
    return [holds ? 1 : 0, isFit ? 1 : 0, warm > 0 ? 1 : 0, free?.memMb ?? 0];
  };
  return (left: HostRecord, right: HostRecord): number => {
    const [a, b] = [rank(left), rank(right)];
    return a.map((value, at) => (b[at] ?? 0) - value).find((by) => by !== 0) ?? 0;
  };
}

/** No host can even be asked. An entitled org gets no desktop for want of capacity (decisions). */
function noHost({ kind }: PlaceVm, missing: string[]): Refusal {
  const others = missing.filter((name) => name !== "desktop");
  if (others.length > 0) return lacking(others);
  const hint =
    kind === "desktop"
      ? "No registered VM host serves desktops."
      : "No registered VM host takes machines. npm start says what a host needs.";
  return refusal("NoCapacity", "No host has room right now. Try again.", { hint });
}

function lacking(missingCapabilities: string[]): Refusal {
  const text = `No host can do this yet: ${missingCapabilities.join(", ")}.`;
  return refusal("HostCapabilityMissing", text, { missingCapabilities });
}

/** One refusal of several: the one that best says what would help. */
function refusalOf(answers: NotPlaced[], { source }: PlaceVm): Refusal {
  if (answers.some(({ type }) => type === "fetching")) return stillFetching();
  const refused = answers.flatMap((answer) => (answer.type === "refused" ? [answer.refused] : []));
  const saying = (code: VmRefused["code"]) => refused.find((one) => one.code === code);
  const small = saying("InsufficientCapacity");
  if (small) {
    const hint = small.hint ?? "Ask for less, or release a sandbox.";
    return refusal("InsufficientCapacity", "This size fits no host right now. Try again.", {
      hint,
    });
  }
  const full = saying("NoCapacity");
  if (full) {
    const text = "No host has room right now. Try again.";
    return refusal("NoCapacity", text, { hint: full.hint ?? full.error });
  }
  const busy = saying("VolumeBusy");
  if (busy) {
    const text = "A volume cannot be had right now. Try again.";
    return refusal("VolumeStatusUnknown", text, { hint: busy.error });
  }
  const unable = saying("HostCapabilityMissing");
  if (unable) return lacking(unable.missingCapabilities ?? []);
  const taken = saying("VolumePathTaken");
  if (taken) return refusal("ValidationError", `volumes: ${taken.error}`, { field: "volumes" });
  const foreign = saying("SnapshotNotRestorable");
  if (foreign) return notRestorable(foreign.error);
  const unknown = saying("UnknownSnapshot");
  // Of a template only its hosts know that they have it: one that is away may come back.
  const isTemplate = source.type === "snapshot" && source.id.startsWith("tpl_");
  if (unknown) return isTemplate ? holderAway() : notRestorable(unknown.error);
  return refusal("HostRejected", "The host could not make the machine. Try again.");
}
