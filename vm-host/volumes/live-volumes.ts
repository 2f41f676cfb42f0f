import { type Log, messageOf } from "@svc/host-kit/log.ts";
import { type MountedVolume, changedAt } from "../disk/mounted-volume.ts";
import { Limiter } from "./limiter.ts";
import { LiveImage } from "./live-image.ts";
import type { LocalVolumes } from "./local-volumes.ts";
import type { VolumeVm } from "./volumes.ts";

/** How long a guest's writers may be kept waiting while its volume is read. */
const FROZEN_MS = 10_000;
/** So many volumes of running machines are stored at once: a large one must not keep all others waiting. */
const AT_ONCE = 4;

export interface LiveVolumesOptions {
  local: LocalVolumes;
  running: () => VolumeVm[];
  /** How often the volume of a running machine is stored. */
  syncMs: number;
  log: Log;
}

/** Stores volumes of running machines, from time to time, and removes copies that nobody needs. */
export class LiveVolumes {
  readonly #local: LocalVolumes;
  readonly #log: Log;
  readonly #limiter = new Limiter<MountedVolume>(AT_ONCE);
  /** How far each volume of a running machine was read. */
  readonly #live = new WeakMap<MountedVolume, { vm: VolumeVm; image: LiveImage }>();
  readonly #timer: NodeJS.Timeout;

  constructor({ local, running, syncMs, log }: LiveVolumesOptions) {
    this.#local = local;
    this.#log = log;
    this.#timer = setInterval(() => this.#look(running()), syncMs).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Stores volumes of running machines that were written since the last time. */
  #look(vms: VolumeVm[]): void {
    for (const vm of vms)
      for (const volume of vm.machine.volumes)
        this.#limiter.run(volume, () => this.#storeLive(vm, volume));
    this.#local.sweep(Date.now()).catch((error: unknown) => {
      this.#log.warn({ reason: messageOf(error) }, "old_volume_copies_kept");
    });
  }

  async #storeLive(vm: VolumeVm, volume: MountedVolume): Promise<void> {
    const { volumeId, file } = volume;
    // It was there when its turn was asked for.
    if (file === null || vm.isParked || vm.isOver || !vm.machine.volumes.includes(volume)) return;
    try {
      const storedAt = this.#local.get(volumeId)?.storedAt ?? "";
      if (storedAt === (await changedAt(file))) return;
      const image = this.#liveOf(vm, volume, file);
      if (await image.isIdleSince(storedAt)) return;
      await this.#local.sync(volumeId, (packer, signal) => image.scan(packer, signal));
    } catch (error) {
      this.#log.warn({ reason: messageOf(error) }, "live_volume_not_stored");
    }
  }

  #liveOf(vm: VolumeVm, volume: MountedVolume, file: string): LiveImage {
    const known = this.#live.get(volume);
    if (known?.vm === vm) return known.image;
    const { serial, slot } = volume;
    const image = new LiveImage(file, {
      // Best effort: what is left of it is written out while the writers wait.
      flush: () => vm.guest.flushVolume(serial).catch((error: unknown) => this.#notFlushed(error)),
      freeze: () => vm.guest.freezeVolume(serial, FROZEN_MS),
      thaw: () => vm.guest.thawVolume(serial),
      written: () => vm.machine.written(slot),
    });
    this.#live.set(volume, { vm, image });
    return image;
  }

  #notFlushed(error: unknown): void {
    this.#log.warn({ reason: messageOf(error) }, "volume_not_written_out");
  }
}
