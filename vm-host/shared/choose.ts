import { SHARE_LEAST_MB } from "@svc/contract/control-channel/share-methods.ts";
import type { PlaceVm } from "@svc/contract/host-protocol/vms.ts";
import { memoryClass } from "../machines/capacity.ts";

/** What a shared machine keeps for its kernel and its own agent, and for each share beside the share's own memory. */
const MACHINE_MB = 256;
const SHARE_MB = 24;
/** The common size of a machine: a warm machine may be there. */
const LEAST = { cpu: 2, memMb: 2_048 };
const MOST_SHARES = 32;
/** Disks are made as large as they are asked for, and take what is written. */
export const SHARED_DISK_GB = 64;
const IMAGE_GB = 4;

/** A share that is wanted. */
export interface ShareWish {
  org: string;
  /** Names image and initrd: all shares of a home have the same. */
  bootKey: string;
  cpu: number;
  memMb: number;
  diskGb: number;
}

/** What counts of a home. */
export interface Holder {
  name: string;
  org: string;
  bootKey: string;
  cpu: number;
  memMb: number;
  shares: readonly Pick<ShareWish, "memMb" | "diskGb">[];
}

/** A home that takes the share, or the size of a new one. */
export type Choice = { name: string } | { cpu: number; memMb: number };

/** What a share gets of the memory it asks for. */
export const shareMemory = (memMb: number): number => Math.max(SHARE_LEAST_MB, memMb);

/** What only a machine of its own can: a share begins from a built-in image, without volumes. */
export function missingForShare({ isolation, source, volumes }: PlaceVm): string[] {
  if (isolation !== "shared") return [];
  return [
    source.type === "image" ? [] : ["isolation.shared.templates"],
    volumes?.length ? ["isolation.shared.volumes"] : [],
  ].flat();
}

/**
 * Where a share goes: into the fullest home of its own org that holds it whole, else into a new home. Memory is given once.
 * Two orgs are never in one home.
 */
export function chooseMachine(wish: ShareWish, holders: readonly Holder[]): Choice {
  const [best] = holders
    .filter((holder) => holder.org === wish.org && holder.bootKey === wish.bootKey)
    .filter((holder) => holder.cpu >= wish.cpu && fits(wish, holder))
    .toSorted((left, right) => freeMb(left) - freeMb(right));
  if (best) return { name: best.name };
  const memMb = memoryClass(Math.max(LEAST.memMb, wish.memMb + SHARE_MB + MACHINE_MB));
  return { cpu: Math.max(LEAST.cpu, wish.cpu), memMb };
}

/** MiB of a home that no share has been promised. */
export function freeMb({ memMb, shares }: Pick<Holder, "memMb" | "shares">): number {
  return shares.reduce((left, share) => left - share.memMb - SHARE_MB, memMb - MACHINE_MB);
}

function fits(wish: ShareWish, holder: Holder): boolean {
  const diskGb = holder.shares.reduce((sum, share) => sum + share.diskGb, IMAGE_GB);
  return (
    holder.shares.length < MOST_SHARES &&
    freeMb(holder) >= wish.memMb + SHARE_MB &&
    diskGb + wish.diskGb <= SHARED_DISK_GB
  );
}
