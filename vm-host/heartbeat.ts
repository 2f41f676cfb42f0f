import { statfs } from "node:fs/promises";
import type { HostPlatform } from "@svc/contract/host-protocol/vm-states.ts";
import type { VmHeartbeat } from "@svc/contract/host-protocol/vms.ts";
import { allowanceText } from "@svc/host-kit/egress/allowance.ts";
import type { VmHostConfig } from "./config.ts";
import type { VmDriver } from "./driver.ts";
import type { Images } from "./images/images.ts";
import type { Capacity } from "./machines/capacity.ts";
import type { Vms } from "./machines/vms.ts";

const GIB = 1024 ** 3;

/** What this machine allows. */
export interface Ground {
  isConfined: boolean;
  /** Memory and tasks of each machine are capped. */
  isCapped: boolean;
  hasEgress: boolean;
  qemu: string | null;
}

export interface Parts {
  config: VmHostConfig;
  ground: Ground;
  vms: Vms;
  capacity: Capacity;
  images: Images;
  driver: VmDriver | null;
  /** Null until machines can be made. */
  platform: HostPlatform | null;
  warm: number;
  url: string;
  freeDiskGb: number;
  /** Templates of customers. */
  templates: string[];
  /** Snapshots in the object store of which the gateway has not heard. */
  durableSnapshots: string[];
}

/** What the host says of itself at this moment, with the next seq. */
export function snapshotOf(parts: Parts): VmHeartbeat {
  const { config, ground, vms, capacity, images, driver, warm, url, freeDiskGb } = parts;
  const { durableSnapshots, platform, templates } = parts;
  const hint = images.hint;
  return {
    type: "vm",
    bootId: vms.bootId,
    seq: vms.nextSeq(),
    url,
    versions: { qemu: ground.qemu ?? "" },
    ...(driver && { accel: shortened(driver.accelerator) }),
    ...(platform && { platform }),
    capabilities: driver ? [...driver.capabilities] : [],
    isolation: ground.isConfined ? "uid" : "none",
    egress: ground.hasEgress ? "filtered" : "off",
    weaknesses: weaknessesOf(ground),
    egressAllow: config.egressAllow.map(allowanceText),
    warm,
    free: { ...capacity.free, diskGb: freeDiskGb },
    images: images.reports(),
    ...(hint !== null && { hint }),
    ...(vms.isDraining && { draining: true }),
    vms: vms.reports(),
    ...(templates.length > 0 && { templates: templates.slice(-1000) }),
    ...(durableSnapshots.length > 0 && { durableSnapshots }),
  };
}

/** What is weaker on this machine than it could be. */
export function weaknessesOf({ isConfined, isCapped, hasEgress }: Ground): string[] {
  const found: string[] = [];
  if (!isConfined) found.push("Not root: every machine runs as the host's own user.");
  if (!isCapped) found.push("No cgroups (needs root): a machine's own process is not capped.");
  if (!hasEgress) found.push("No packet filter (needs root and nft): machines have no network.");
  return found;
}

function shortened({ name, reason, bootMs }: VmDriver["accelerator"]) {
  return { name, reason: reason.slice(0, 500), bootMs };
}

/** Whole GiB free where machines have their disks. */
export async function freeDisk(folder: string): Promise<number> {
  const found = await statfs(folder).catch(() => null);
  return found ? Math.floor((found.bavail * found.bsize) / GIB) : 0;
}
