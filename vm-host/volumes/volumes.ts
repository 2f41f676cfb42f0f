import { stat } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import type { VolumeMount } from "@svc/contract/host-protocol/volumes.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import { ObjectStore } from "@svc/host-kit/object-store.ts";
import type { Machine } from "../driver.ts";
import { VOLUME_SLOTS } from "../qemu/command.ts";
import type { SnapshotRecord } from "../snapshots/record.ts";
import type { Vm } from "../machines/vm.ts";
import { LiveImage } from "./live.ts";
import { type MountedVolume, changedAt, serialOf, shallowFirst } from "./mounted.ts";
import { checkPath } from "./path.ts";
import { VolumePlace } from "./place.ts";
import { VolumeStock } from "./stock.ts";
import type { Ends } from "./throwaway.ts";
import { Turns } from "./turns.ts";

/** How long a guest's writers may be kept waiting while its volume is read. */
const FROZEN_MS = 10_000;
/** So many volumes of running machines are stored at once: a large one is not to keep all others waiting. */
const AT_ONCE = 4;
/** A host that stops has seconds for all its machines. */
const FLUSH_MS = 3_000;
const LATE: unique symbol = Symbol("late");

export interface VolumesOptions {
  cacheDir: string;
  stateDir: string;
  hostId: string;
  gatewayUrl: string;
  hostToken: string;
  /** How often the volume of a running machine is stored. */
  syncMs: number;
  log: Log;
}

/** What of a record says which volumes its machine had. */
type Had = Pick<SnapshotRecord, "kind" | "volumes">;

/** Volumes in machines: plugged in at create, kept over a pause, given back at the end, stored now and then. */
export class Volumes {
  readonly #stock: VolumeStock;
  readonly #options: VolumesOptions;
  /** The store has more of some volume. */
  onStored: () => void = () => {};
  readonly #turns = new Turns<MountedVolume>(AT_ONCE);
  /** How far each volume of a running machine was read. */
  readonly #live = new WeakMap<MountedVolume, { vm: Vm; image: LiveImage }>();
  #timer: NodeJS.Timeout | undefined;

  private constructor(stock: VolumeStock, options: VolumesOptions) {
    this.#stock = stock;
    this.#options = options;
  }

  static async open(options: VolumesOptions): Promise<Volumes> {
    const { cacheDir, stateDir, hostId, gatewayUrl, hostToken, log } = options;
    const place = await VolumePlace.open(cacheDir, stateDir);
    const storeWith = (signal: AbortSignal) => new ObjectStore({ gatewayUrl, hostToken, signal });
    const onStored = (): void => volumes.onStored();
    const parts = { place, hostId, storeWith, onStored, log };
    const volumes: Volumes = new Volumes(new VolumeStock(parts, await place.read()), options);
    return volumes;
  }

  /** Goes on where the last run of the host ended, and stores from now on. `isPaused`: the machine is there still. */
  start(isPaused: (holder: string) => boolean, running: () => Vm[]): void {
    for (const { volumeId, holder, isOpen } of this.#stock.all) {
      if (holder !== null && !isPaused(holder)) void this.release(holder);
      else if (isOpen) this.#stock.syncSoon(volumeId);
    }
    this.#timer = setInterval(() => this.#look(running()), this.#options.syncMs);
    this.#timer.unref();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#stock.close();
  }

  /** Mounts what a new machine shall have. Throws `VolumeBusy`; then, too, the holder is to be released. */
  async attach(holder: string, mounts: VolumeMount[], ends: Ends): Promise<void> {
    for (const mount of shallowFirst(mounts)) {
      await this.#stock.claim(holder, mount);
      await this.#mount(mount, ends);
    }
  }

  /**
   * Mounts what a sandbox has, and its memory has not: as it is now, whatever the record says of it. A machine that
   * goes on on another host takes along what is stored; a snapshot's own volumes are nobody's any more.
   */
  async remount(holder: string, { kind, volumes }: Had, ends: Ends): Promise<void> {
    const had = kind === "snapshot" ? [] : volumes;
    const moved = kind === "copy" && ({ takeOver: true } as const);
    for (const volume of had) await this.#stock.claim(holder, { ...volume, ...moved });
    const fits = ends.machine.volumes.map(({ volumeId }) => volumeId);
    const missing = this.#stock.of(holder).filter(({ volumeId }) => !fits.includes(volumeId));
    for (const note of shallowFirst(missing)) await this.#mount(note, ends);
  }

  /** Whether a guest has room for the volumes of a sandbox. Throws `PathTaken`. */
  async checkPaths(holder: string, guest: Ends["guest"]): Promise<void> {
    for (const { path } of this.#stock.of(holder)) await checkPath(guest, path);
  }

  /** Lets the guest write everything out. It is best effort: a journal keeps what it had written whole. */
  async unmount(vm: Vm): Promise<void> {
    const volumes = vm.machine.volumes.filter(({ file }) => file !== null);
    if (volumes.length === 0) return;
    // A parked machine cannot write.
    vm.touch();
    await this.#stock.settle(volumes.map(({ volumeId }) => volumeId));
    for (const volume of shallowFirst(volumes).toReversed()) {
      const isFree = await vm.guest.unmountVolume(volume, false).catch((error: unknown) => {
        this.#options.log.warn({ reason: messageOf(error) }, "a volume could not be unmounted");
        return false;
      });
      if (isFree) await vm.machine.unplug(volume.slot).catch(() => null);
    }
  }

  /**
   * Has the guest write out what its memory holds of its volumes: on another host, or once they were written, a saved memory
   * of them is worth nothing. Best effort. A parked one did it before.
   */
  async flush(vm: Vm): Promise<void> {
    if (vm.isParked) return;
    const volumes = vm.machine.volumes.filter(({ file }) => file !== null);
    for (const { volumeId, serial } of volumes)
      await this.#stock.settle([volumeId], () => this.#flush(vm, serial));
  }

  async #flush({ guest }: Vm, serial: string): Promise<void> {
    const late = pause(FLUSH_MS, LATE, { ref: false });
    try {
      const frozen = guest.freezeVolume(serial, FLUSH_MS);
      frozen.catch(() => null);
      if ((await Promise.race([frozen, late])) === LATE) throw new Error("it takes too long");
    } catch (error) {
      this.#unwritten(error);
    } finally {
      await Promise.race([guest.thawVolume(serial).catch(() => null), late]);
    }
  }

  #unwritten(error: unknown): void {
    this.#options.log.warn({ reason: messageOf(error) }, "a volume was not written out");
  }

  /** The machine is gone, for good: what it had is free. */
  release(holder: string): Promise<void> {
    return this.#stock.release(holder).catch((error: unknown) => {
      this.#options.log.error({ reason: messageOf(error) }, "a volume could not be released");
    });
  }

  /** The machine is paused: it keeps its volumes, and nobody writes them. */
  async rested(holder: string): Promise<void> {
    for (const { volumeId } of this.#stock.of(holder)) await this.#stock.rest(volumeId);
  }

  /** Whether another host that took over what a paused machine has would find all of it in the store. */
  async areStored(holder: string): Promise<boolean> {
    for (const { volumeId, isOpen, storedAt } of this.#stock.of(holder)) {
      const image = this.#stock.imageOf(volumeId);
      if (isOpen && storedAt !== (await changedAt(image))) return false;
    }
    return true;
  }

  /** Resolves when nobody reads the images of a paused machine any more. */
  settle(holder: string): Promise<void> {
    return this.#stock.settle(this.#stock.of(holder).map(({ volumeId }) => volumeId));
  }

  async #mount(
    { volumeId, path, epoch }: Pick<VolumeMount, "volumeId" | "path" | "epoch">,
    { machine, guest }: Ends,
  ): Promise<void> {
    const file = this.#stock.imageOf(volumeId);
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

  /** Stores volumes of running machines that were written since the last time. */
  #look(vms: Vm[]): void {
    for (const vm of vms)
      for (const volume of vm.machine.volumes)
        this.#turns.take(volume, () => this.#storeLive(vm, volume));
    this.#stock.sweep(Date.now()).catch((error: unknown) => {
      this.#options.log.warn({ reason: messageOf(error) }, "old copies were not removed");
    });
  }

  async #storeLive(vm: Vm, volume: MountedVolume): Promise<void> {
    const { volumeId, file } = volume;
    // It was there when its turn was asked for.
    if (file === null || vm.isParked || vm.isOver || !vm.machine.volumes.includes(volume)) return;
    try {
      const storedAt = this.#stock.get(volumeId)?.storedAt ?? "";
      if (storedAt === (await changedAt(file))) return;
      const image = this.#liveOf(vm, volume, file);
      if (await image.isIdleSince(storedAt)) return;
      await this.#stock.sync(volumeId, (packer, signal) => image.scan(packer, signal));
    } catch (error) {
      this.#options.log.warn({ reason: messageOf(error) }, "a volume in use was not stored");
    }
  }

  #liveOf(vm: Vm, volume: MountedVolume, file: string): LiveImage {
    const known = this.#live.get(volume);
    if (known?.vm === vm) return known.image;
    const { serial, slot } = volume;
    const image = new LiveImage(file, {
      // Best effort: what is left of it is written out while the writers wait.
      flush: () => vm.guest.flushVolume(serial).catch((error: unknown) => this.#unwritten(error)),
      freeze: () => vm.guest.freezeVolume(serial, FROZEN_MS),
      thaw: () => vm.guest.thawVolume(serial),
      written: () => vm.machine.written(slot),
    });
    this.#live.set(volume, { vm, image });
    return image;
  }
}

function freeSlot({ volumes }: Machine): number {
  const taken = new Set(volumes.map(({ slot }) => slot));
  const slots = Array.from({ length: VOLUME_SLOTS }, (_, slot) => slot);
  const free = slots.find((slot) => !taken.has(slot));
  if (free === undefined) throw new Error("the machine has no place for another volume");
  return free;
}
