import type { HostRecord } from "@svc/contract/admin/hosts.ts";
import { type Refusal, refusal } from "@svc/contract/errors.ts";
import type { HostPlatform, SnapshotPlatform } from "@svc/contract/host-protocol/vm-states.ts";
import type { VmKind } from "@svc/contract/vm/machine.ts";

/** A snapshot's record at its hosts: where it lies, whether any host can fetch it, and what it ran on, as far as that is known. */
export interface SavedMachine {
  hostId: string;
  isDurable: boolean;
  platform: SnapshotPlatform | null;
}

/** The origin of a machine or a build: a snapshot, a template or an image. */
export interface Origin {
  /** The snapshot; null for a template or an image. */
  saved: SavedMachine | null;
  /** The platform that the custom template needs, as far as it is known; null for an image. */
  platform: HostPlatform | null;
}

/** The capabilities that a host needs to resume saved machines of a kind. */
export const restoring = (kind: VmKind): string[] => [
  "snapshots",
  ...(kind === "desktop" ? ["desktop"] : []),
];

/** VM hosts that take machines, and have these capabilities. */
export function hostsWith(
  hosts: readonly HostRecord[],
  capabilities: readonly string[],
): HostRecord[] {
  const lacksNone = (host: HostRecord) =>
    capabilities.every((name) => host.capabilities?.includes(name));
  return openVmHosts(hosts).filter(lacksNone);
}

/** VM hosts that take machines. */
export const openVmHosts = (hosts: readonly HostRecord[]): HostRecord[] =>
  hosts.filter(({ type, draining }) => type === "vm" && !draining);

/**
 * Which of the hosts an origin can go on at, in the order to ask them; or why it can at none of them. A snapshot goes on
 * at its own host, and once it is durable at any other, the emptiest first; all else in the order of `hosts`.
 */
export function hostsFor(
  hosts: readonly HostRecord[],
  { saved, platform }: Origin,
): { hosts: HostRecord[] } | Refusal {
  if (!saved) return fitting(hosts, platform);
  const own = hosts.filter(({ hostId }) => hostId === saved.hostId);
  const others = hosts.filter(({ hostId }) => hostId !== saved.hostId);
  const all = [...own, ...(saved.isDurable ? others.toSorted(byRank(emptiest)) : [])];
  return fitting(all, saved.platform);
}

/** The hosts whose platform fits, in their order; or that none of them fits. */
export function fitting(
  hosts: readonly HostRecord[],
  platform: HostPlatform | null,
): { hosts: HostRecord[] } | Refusal {
  const fit = hosts.filter((host) => misfit(platform, host.platform) === null);
  const [first] = hosts;
  // A host that is away may come back, and be of another platform than these.
  if (first && fit.length === 0)
    return notRestorable(misfit(platform, first.platform) ?? "The platforms differ.");
  return { hosts: fit };
}

const NAMES = ["driver", "accelerator", "qemu", "machine", "cpu"] as const;

/** Why a record cannot go on under a platform; null when it can, or when that is not known. */
function misfit(wanted: HostPlatform | null, here: HostPlatform | undefined): string | null {
  const name = wanted && here ? NAMES.find((key) => wanted[key] !== here[key]) : undefined;
  if (name === undefined) return null;
  return `It was saved with ${name} ${wanted?.[name]}; the host has ${here?.[name]}.`;
}

/** Orders hosts by what speaks for them, the weightiest number first. */
export const byRank =
  (rank: (host: HostRecord) => number[]) =>
  (left: HostRecord, right: HostRecord): number => {
    const [a, b] = [rank(left), rank(right)];
    return a.map((value, at) => (b[at] ?? 0) - value).find((by) => by !== 0) ?? 0;
  };

/** The rank of a host by its free memory. */
export const emptiest = ({ free }: HostRecord): number[] => [free?.memMb ?? 0];

/** Whether an image is ready at a host. */
export const hasImage = ({ images = [] }: HostRecord, wanted: string): boolean =>
  images.some(({ name, state }) => name === wanted && state === "ready");

/** Whether a host builds an image now. */
export const isBuildingImage = ({ images = [] }: HostRecord, wanted: string): boolean =>
  images.some(({ name, state }) => name === wanted && state === "building");

export const notRestorable = (hint: string): Refusal =>
  refusal("SnapshotNotRestorable", "No registered host can resume the saved machine.", { hint });

export const holderAway = (): Refusal =>
  refusal("NoCapacity", "No host can resume the saved machine right now. Try again.", {
    hint: "The host that holds it cannot be reached.",
  });

/** A host that fetches goes on by itself: a repeat of the request finds what it has fetched. */
export const stillFetching = (): Refusal =>
  refusal("NoCapacity", "A host is still fetching the saved machine. Try again.", {
    hint: "The host goes on fetching without this request. Send it again in a minute.",
  });
