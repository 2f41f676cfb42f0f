import type { HostRecord } from "@svc/contract/admin/hosts.ts";
import { type Refusal, refusal } from "@svc/contract/errors.ts";
import type { HostPlatform, SnapshotPlatform } from "@svc/contract/host-protocol/vm-states.ts";
import type { VmKind } from "@svc/contract/vm/machine.ts";

/** A saved machine: where it lies, whether any host can fetch it, and what it ran on, as far as that is known. */
export interface SavedMachine {
  hostId: string;
  isDurable: boolean;
  platform: SnapshotPlatform | null;
}

const NAMES = ["driver", "accelerator", "qemu", "machine", "cpu"] as const;

/** Why a record cannot go on under a platform; null when it can, or when that is not known. */
function misfit(wanted: HostPlatform | null, here: HostPlatform | undefined): string | null {
  const name = wanted && here ? NAMES.find((key) => wanted[key] !== here[key]) : undefined;
  if (name === undefined) return null;
  return `It is of ${name} ${wanted?.[name]}; here it is ${here?.[name]}.`;
}

/** Hosts that a saved machine may go on at, its own first; or why it can nowhere, decided from what the fleet says. */
export function hostsFor(
  hosts: readonly HostRecord[],
  { hostId, isDurable, platform }: SavedMachine,
): { hosts: HostRecord[] } | Refusal {
  const own = hosts.filter((host) => host.hostId === hostId);
  const others = hosts.filter((host) => host.hostId !== hostId);
  return fitting([...own, ...(isDurable ? others.toSorted(emptiest) : [])], platform);
}

/** Those of the hosts that something of a platform can go on at, in their order; or that it can at none of them. */
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

const emptiest = (left: HostRecord, right: HostRecord): number =>
  (right.free?.memMb ?? 0) - (left.free?.memMb ?? 0);

/** Registered VM hosts that let saved machines of a kind go on. */
export function restorers(hosts: readonly HostRecord[], kind: VmKind): HostRecord[] {
  const needed = ["snapshots", ...(kind === "desktop" ? ["desktop"] : [])];
  return hosts.filter(
    ({ type, draining, capabilities }) =>
      type === "vm" && !draining && needed.every((name) => capabilities?.includes(name)),
  );
}

export const notRestorable = (hint: string): Refusal =>
  refusal("SnapshotNotRestorable", "This machine cannot go on here.", { hint });

export const holderAway = (): Refusal =>
  refusal("NoCapacity", "No host can restore it right now. Try again.", {
    hint: "The host that holds it cannot be reached.",
  });

/** What a host fetches goes on there by itself, and a repeat finds it. */
export const stillFetching = (): Refusal =>
  refusal("NoCapacity", "What it begins from is still on its way to a host.", {
    hint: "Another host is fetching it, and goes on without this request. Send it again in a minute.",
  });
