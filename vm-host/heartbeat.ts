import type { VmHeartbeat } from "@svc/contract/host-protocol/vms.ts";
import { allowanceText } from "@svc/host-kit/egress/allowance.ts";
import { Heartbeats } from "@svc/host-kit/heartbeats.ts";
import type { Log } from "@svc/host-kit/log.ts";
import { templatesIn } from "./builds/builds.ts";
import type { Abilities } from "./computer.ts";
import type { VmHostConfig } from "./config.ts";
import type { FreeDisk } from "./disk/free-disk.ts";
import type { VmDriver } from "./driver.ts";
import { BASE } from "./images/base.ts";
import type { Images } from "./images/images.ts";
import { type Readiness, TRYING, capabilitiesOf } from "./machinery.ts";
import type { Capacity } from "./machines/capacity.ts";
import { hostNowMs } from "./machines/use.ts";
import type { Vms } from "./machines/vms.ts";
import { DurableSnapshots } from "./records/durable-snapshots.ts";
import type { RecordStore } from "./records/store.ts";

export interface HeartbeatParts {
  config: VmHostConfig;
  abilities: Abilities;
  vms: Vms;
  capacity: Capacity;
  images: Images;
  readiness: Readiness;
  url: string;
  freeDiskGb: number;
  /** Ids of templates that are here. */
  templates: string[];
  /** Ids of snapshots in the object store of which the gateway has not heard. */
  durableSnapshots: string[];
}

/** What a host's heartbeats are made of, and tell. */
export interface HeartbeatSources extends Pick<
  HeartbeatParts,
  "config" | "abilities" | "vms" | "capacity"
> {
  store: RecordStore;
  log: Log;
}

interface ServedSources extends Pick<HeartbeatParts, "images" | "readiness" | "url"> {
  disk: FreeDisk;
  /** The gateway knows what is served here. */
  onTold: () => void;
}

/** The heartbeats of a host, with what their answers ask of it. */
export function heartbeatsOf(
  { config, abilities, vms, capacity, store, log }: HeartbeatSources,
  { disk, onTold, ...own }: ServedSources,
): Heartbeats<VmHeartbeat> {
  const { gatewayUrl, hostToken, hostId } = config;
  const durable = new DurableSnapshots(store);
  const known = { ...own, config, abilities, vms, capacity };
  return new Heartbeats({
    gatewayUrl,
    hostId,
    hostToken,
    log,
    call: fetch,
    nextBeat: () => {
      const [templates, durableSnapshots] = [templatesIn(store), durable.next];
      return heartbeatOf({ ...known, freeDiskGb: disk.freeGb, templates, durableSnapshots });
    },
    onAnswer: (reply, beat) => {
      if (saysEnough(beat, config.warm)) onTold();
      const again = new Set(reply.again);
      vms.forget(beat.vms.filter(({ id }) => !again.has(id)));
      durable.heard((beat.durableSnapshots ?? []).filter((id) => !again.has(id)));
      for (const id of reply.end) void vms.end(id);
    },
  });
}

/** What the host says of itself at this moment, with the next sequence number. */
export function heartbeatOf(parts: HeartbeatParts): VmHeartbeat {
  const { config, abilities, vms, capacity, images, readiness, url, freeDiskGb } = parts;
  const { durableSnapshots, templates } = parts;
  const { machinery, hint } = readiness;
  return {
    type: "vm",
    bootId: vms.bootId,
    seq: vms.nextSeq(),
    sentAt: hostNowMs(),
    url,
    versions: { qemu: abilities.qemu ?? "" },
    ...(machinery && {
      accel: shortened(machinery.driver.accelerator),
      platform: machinery.driver.platform,
    }),
    capabilities: [...capabilitiesOf(readiness, images)],
    isolation: abilities.isConfined ? "uid" : "none",
    egress: abilities.hasEgress ? "filtered" : "off",
    weaknesses: weaknessesOf(abilities),
    egressAllow: config.egressAllow.map(allowanceText),
    warm: machinery?.warm.idleOf(BASE.name) ?? 0,
    free: { ...capacity.free, diskGb: freeDiskGb },
    images: images.reports(),
    ...(hint !== null && { hint }),
    ...(vms.isDraining && { draining: true }),
    vms: vms.reports(),
    ...(templates.length > 0 && { templates: templates.slice(-1000) }),
    ...(durableSnapshots.length > 0 && { durableSnapshots }),
  };
}

/** Whether a beat says all that a start waits for: a warm machine, or why there is none. */
export function saysEnough({ hint, images, accel, warm }: VmHeartbeat, wanted: number): boolean {
  if (hint !== undefined && hint !== TRYING) return true;
  const image = images.find(({ name }) => name === BASE.name);
  // Of an image that is missing nothing is known until it was looked for.
  if (image?.state !== "ready") return image?.state === "building" || image?.hint !== undefined;
  return accel !== undefined && hint === undefined && warm >= Math.min(1, wanted);
}

/** What is weaker on this computer than it could be. */
export function weaknessesOf({ isConfined, isCapped, hasEgress }: Abilities): string[] {
  const found: string[] = [];
  if (!isConfined) found.push("Not root: every machine runs as the host's own user.");
  if (!isCapped) found.push("No cgroups (needs root): a machine's own process is not capped.");
  if (!hasEgress) found.push("No packet filter (needs root and nft): machines have no network.");
  return found;
}

function shortened({ name, reason, bootMs }: VmDriver["accelerator"]) {
  return { name, reason: reason.slice(0, 500), bootMs };
}
