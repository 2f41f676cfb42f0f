import { stat } from "node:fs/promises";
import type { VolumeMount } from "@svc/contract/host-protocol/volumes.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import { LATE, inTime } from "@svc/host-kit/deadline.ts";
import { type MountedVolume, changedAt, serialOf, shallowFirst } from "../disk/mounted-volume.ts";
import { type Machine, VOLUME_SLOTS } from "../driver.ts";
import type { LocalVolumes } from "./local-volumes.ts";
import { checkPath } from "./path.ts";
import type { Ends } from "./throwaway.ts";

/** A host that stops has seconds for all its machines. */
const FLUSH_MS = 3_000;

/** What a record says of the volumes that its machine had. */
interface RecordedVolumes {
  kind: string;
  volumes: readonly MountedVolume[];
}

/** A machine of a sandbox, as far as its volumes go. */
export interface VolumeVm extends Ends {
  readonly isParked: boolean;
  readonly isOver: boolean;
  touch(): void;
}

/** Volumes in machines: plugged in at create, kept over a pause, given back at the end. */
export class Volumes {
  readonly #local: LocalVolumes;
  readonly #log: Log;

  constructor(local: LocalVolumes, log: Log) {
    this.#local = local;
    this.#log = log;
  }

  /** Mounts what a new machine shall have. Throws `VolumeBusy`; then, too, the holder is to be released. */
  async attach(holder: string, mounts: VolumeMount[], ends: Ends): Promise<void> {
    for (const mount of shallowFirst(mounts)) {
      await this.#local.claim(holder, mount);
      await this.#mount(mount, ends);
    }
  }

  /**
   * Mounts the volumes of a sandbox that its memory does not know, as they are now, not as the record says. A machine that
   * was moved to this host gets what is stored; volumes named in a snapshot are not mounted.
   */
  async remount(holder: string, { kind, volumes }: RecordedVolumes, ends: Ends): Promise<void> {
    const had = kind === "snapshot" ? [] : volumes;
    const moved = kind === "copy" && ({ takeOver: true } as const);
    for (const volume of had) await this.#local.claim(holder, { ...volume, ...moved });
    const fits = ends.machine.volumes.map(({ volumeId }) => volumeId);
    const missing = this.#local.of(holder).filter(({ volumeId }) => !fits.includes(volumeId));
    for (const note of shallowFirst(missing)) await this.#mount(note, ends);
  }

  /** Throws `PathTaken` where a volume of a sandbox cannot be mounted in a guest. */
  async checkPaths(holder: string, guest: Ends["guest"]): Promise<void> {
    for (const { path } of this.#local.of(holder)) await checkPath(guest, path);
  }

  /** Lets the guest write everything out. It is best effort: a journal keeps what it had written whole. */
  async unmount(vm: VolumeVm): Promise<void> {
    const volumes = vm.machine.volumes.filter(({ file }) => file !== null);
    if (volumes.length === 0) return;
    // A parked machine cannot write.
    vm.touch();
    await this.#local.settle(volumes.map(({ volumeId }) => volumeId));
    for (const volume of shallowFirst(volumes).toReversed()) {
      const isFree = await vm.guest.unmountVolume(volume, false).catch((error: unknown) => {
        this.#log.warn({ reason: messageOf(error) }, "volume_unmount_failed");
        return false;
      });
      if (isFree) await vm.machine.unplug(volume.slot).catch(() => null);
    }
  }

  /**
   * Has the guest write out what its memory holds of its volumes: on another host, or once they were written, a saved memory
   * of them is worth nothing. Best effort. A parked one did it before.
   */
  async flush(vm: VolumeVm): Promise<void> {
    if (vm.isParked) return;
    const volumes = vm.machine.volumes.filter(({ file }) => file !== null);
    for (const { volumeId, serial } of volumes)
      await this.#local.settle([volumeId], () => this.#flush(vm, serial));
  }

  async #flush({ guest }: Ends, serial: string): Promise<void> {
    const until = performance.now() + FLUSH_MS;
    try {
      const frozen = await inTime(guest.freezeVolume(serial, FLUSH_MS), FLUSH_MS);
      if (frozen === LATE) throw new Error("it takes too long");
    } catch (error) {
      this.#log.warn({ reason: messageOf(error) }, "volume_not_written_out");
    } finally {
      const leftMs = Math.max(0, until - performance.now());
      await inTime(guest.thawVolume(serial), leftMs).catch(() => null);
    }
  }

  /** The machine is gone, for good: its volumes are free. */
  release(holder: string): Promise<void> {
    return this.#local.release(holder);
  }

  /** The machine is paused: it keeps its volumes, and nobody writes them. */
  async paused(holder: string): Promise<void> {
    for (const { volumeId } of this.#local.of(holder)) await this.#local.paused(volumeId);
  }

  /** Whether another host that took over what a paused machine has would find all of it in the store. */
  async areStored(holder: string): Promise<boolean> {
    for (const { volumeId, isOpen, storedAt } of this.#local.of(holder)) {
      const image = this.#local.imageOf(volumeId);
      if (isOpen && storedAt !== (await changedAt(image))) return false;
    }
    return true;
  }

  /** Resolves when nobody reads the images of a paused machine any more. */
  settle(holder: string): Promise<void> {
    return this.#local.settle(this.#local.of(holder).map(({ volumeId }) => volumeId));
  }

  async #mount(
    { volumeId, path, epoch }: Pick<VolumeMount, "volumeId" | "path" | "epoch">,
    { machine, guest }: Ends,
  ): Promise<void> {
    const file = this.#local.imageOf(volumeId);
    const { size: sizeBytes } = await stat(file);
    const slot = freeSlot(machine);
    const serial = serialOf(volumeId);
    const volume = { volumeId, path, epoch, slot, serial, sizeBytes, file };
    await machine.plug(volume);
    try {
      await guest.mountVolume(volume);
    } catch (error) {
      await checkPath(guest, path);
      throw error;
    }
  }
}

function freeSlot({ volumes }: Machine): number {
  const taken = new Set(volumes.map(({ slot }) => slot));
  const slots = Array.from({ length: VOLUME_SLOTS }, (_, slot) => slot);
  const free = slots.find((slot) => !taken.has(slot));
  if (free === undefined) throw new Error("the machine has no place for another volume");
  return free;
}
