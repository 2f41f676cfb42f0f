import type { VmHeartbeat } from "@svc/contract/host-protocol/vms.ts";
import { allowanceText } from "@svc/host-kit/egress/allowance.ts";
import type { Abilities } from "./computer.ts";
import type { VmHostConfig } from "./config.ts";
import type { VmDriver } from "./driver.ts";
import type { Images } from "./images/images.ts";
import { type Readiness, TRYING } from "./machinery.ts";
import type { Capacity } from "./machines/capacity.ts";
import { hostNowMs } from "./machines/use.ts";
import type { Vms } from "./machines/vms.ts";

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
    capabilities: machinery ? [...machinery.driver.capabilities] : [],
    isolation: abilities.isConfined ? "uid" : "none",
    egress: abilities.hasEgress ? "filtered" : "off",
    weaknesses: weaknessesOf(abilities),
    egressAllow: config.egressAllow.map(allowanceText),
    warm: machinery?.warm.idle ?? 0,
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
  const isReady = images.some(({ state }) => state === "ready");
  // Of an image that is missing nothing is known until it was looked for.
  if (!isReady) return images.some((image) => image.state === "building" || image.hint);
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
