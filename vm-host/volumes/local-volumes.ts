import type { VolumeMount } from "@svc/contract/host-protocol/volumes.ts";
import { backoffMs } from "@svc/host-kit/backoff.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import { ObjectStore } from "@svc/host-kit/object-store.ts";
import { Lanes } from "../lanes.ts";
import { VolumeFolders, type VolumeNote, takeBack } from "./folders.ts";
import { readStill } from "./reading.ts";
import { type Reader, type TransferOptions, VolumeBusy, VolumeTransfer } from "./transfer.ts";

/** A sync that takes longer than this is begun anew. */
const SYNC_MS = 15 * 60_000;
const RETRIES = { firstMs: 5_000, mostMs: 60_000 };
/** How long a copy that the store has too is kept for the next machine. */
const CACHED_MS = 60 * 60_000;

export interface LocalVolumesOptions extends TransferOptions {
  /** The store has more of some volume. */
  onStored: () => void;
}

export interface OpenOptions {
  cacheDir: string;
  stateDir: string;
  hostId: string;
  gatewayUrl: string;
  hostToken: string;
  /** Whether a sandbox is paused here: then its volumes stay its own. */
  isPaused: (holder: string) => boolean;
  onStored: () => void;
  log: Log;
}

/**
 * The volumes that this host has a copy of: who has each, and how far the store is. What is done with one volume is done
 * one after the other; a sync under way breaks off for whoever needs the volume.
 */
export class LocalVolumes {
  readonly #options: LocalVolumesOptions;
  readonly #notes: Map<string, VolumeNote>;
  readonly #transfer: VolumeTransfer;
  readonly #lanes = new Lanes();
  readonly #syncing = new Map<string, AbortController>();
  readonly #retries = new Map<string, NodeJS.Timeout>();
  readonly #closing = new AbortController();

  constructor(options: LocalVolumesOptions, notes: VolumeNote[]) {
    this.#options = options;
    this.#transfer = new VolumeTransfer(options);
    this.#notes = new Map(notes.map((note) => [note.volumeId, note]));
  }

  /** Goes on where the last run of the host ended. */
  static async open({ isPaused, ...options }: OpenOptions): Promise<LocalVolumes> {
    const { cacheDir, stateDir, hostId, gatewayUrl, hostToken, onStored, log } = options;
    const folders = await VolumeFolders.open(cacheDir, stateDir);
    const storeWith = (signal: AbortSignal) => new ObjectStore({ gatewayUrl, hostToken, signal });
    const parts = { folders, hostId, storeWith, onStored, log };
    const volumes = new LocalVolumes(parts, await folders.read());
    for (const { volumeId, holder, isOpen } of volumes.all) {
      if (holder !== null && !isPaused(holder)) void volumes.release(holder);
      else if (isOpen) volumes.syncSoon(volumeId);
    }
    return volumes;
  }

  get all(): VolumeNote[] {
    return [...this.#notes.values()];
  }

  get(volumeId: string): VolumeNote | undefined {
    return this.#notes.get(volumeId);
  }

  /** What a sandbox has here. */
  of(holder: string): VolumeNote[] {
    return this.all.filter((note) => note.holder === holder);
  }

  imageOf(volumeId: string): string {
    return this.#options.folders.imageOf(volumeId);
  }

  /** Gives a volume to a sandbox: its image is here, and is the newest there is, when this answers. */
  claim(holder: string, mount: VolumeMount): Promise<string> {
    const { volumeId, epoch, path } = mount;
    return this.#alone(volumeId, async () => {
      const note = this.#notes.get(volumeId);
      if (note && note.holder !== null && note.holder !== holder) {
        // That time was nobody's: the copy here is the newest still.
        await this.#keep({ ...note, epoch: Math.max(note.epoch, epoch) });
        throw new VolumeBusy("Another machine of this host has it.");
      }
      // A sandbox that ran on another host meanwhile, and is back, has a newer copy there.
      if (note?.holder !== holder || mount.takeOver) {
        const newest = await this.#transfer.newest(note, mount, this.#closing.signal);
        await this.#keep({ ...newest, epoch, path, holder });
      }
      return this.imageOf(volumeId);
    });
  }

  /** Takes its volumes from a sandbox. What the store lacks of them is stored after. */
  async release(holder: string): Promise<void> {
    try {
      await this.#release(holder);
    } catch (error) {
      this.#options.log.error({ reason: messageOf(error) }, "volume_release_failed");
    }
  }

  async #release(holder: string): Promise<void> {
    await Promise.all(
      this.of(holder).map(({ volumeId }) =>
        this.#alone(volumeId, async () => {
          const note = this.#notes.get(volumeId);
          if (note?.holder !== holder) return;
          await takeBack(this.imageOf(volumeId));
          await this.#keep({ ...note, holder: null });
          this.syncSoon(volumeId);
        }),
      ),
    );
  }

  /** Resolves when nobody reads these images any more, and `then` is done. */
  async settle(volumeIds: string[], then = async (): Promise<void> => {}): Promise<void> {
    await Promise.all(volumeIds.map((id) => this.#alone(id, then)));
  }

  /** Stores what the store lacks, again and again until it is done. Of an image that nobody writes. */
  syncSoon(volumeId: string, tries = 0): void {
    clearTimeout(this.#retries.get(volumeId));
    this.#retries.delete(volumeId);
    this.sync(volumeId).catch((error: unknown) => {
      if (this.#closing.signal.aborted || this.#retries.has(volumeId)) return;
      const reason = messageOf(error);
      this.#options.log.warn({ tries, reason }, "volume_not_stored_yet");
      const waitMs = backoffMs(tries + 1, RETRIES);
      const timer = setTimeout(() => this.syncSoon(volumeId, tries + 1), waitMs).unref();
      this.#retries.set(volumeId, timer);
    });
  }

  /** The machine that wrote it stands still: what was to be read while it ran is not waited for. */
  async paused(volumeId: string): Promise<void> {
    this.#syncing.get(volumeId)?.abort();
    await takeBack(this.imageOf(volumeId));
    this.syncSoon(volumeId);
  }

  /** Stores what the store lacks, once. Without a reader of what is written meanwhile nobody may write the image. */
  sync(volumeId: string, read = this.#still(volumeId)): Promise<void> {
    return this.#lanes.run(volumeId, "sync", async () => {
      const note = this.#notes.get(volumeId);
      // A machine that has the volume writes it again: its next sync stores the rest.
      if (!note || (note.holder === null && !note.isOpen)) return;
      const breaking = new AbortController();
      this.#syncing.set(volumeId, breaking);
      const ends = [breaking.signal, this.#closing.signal, AbortSignal.timeout(SYNC_MS)];
      try {
        await this.#sync(note, read, AbortSignal.any(ends));
      } catch (error) {
        // Somebody needed it: not a failure, and no other try is due.
        if (!breaking.signal.aborted) throw error;
      } finally {
        this.#syncing.delete(volumeId);
      }
    });
  }

  /** Forgets copies that nobody used for a while and that the store has, too. */
  async sweep(now: number): Promise<void> {
    const isOld = ({ holder, isOpen, usedAt }: VolumeNote): boolean =>
      holder === null && !isOpen && now - usedAt > CACHED_MS;
    for (const { volumeId } of this.all.filter(isOld))
      await this.#lanes.run(volumeId, "sweep", async () => {
        const note = this.#notes.get(volumeId);
        if (note && isOld(note)) await this.#forget(volumeId);
      });
  }

  close(): void {
    this.#closing.abort();
    for (const timer of this.#retries.values()) clearTimeout(timer);
  }

  /** Does a change to a volume after those before it; a sync before it breaks off. */
  #alone<Result>(volumeId: string, change: () => Promise<Result>): Promise<Result> {
    this.#syncing.get(volumeId)?.abort();
    return this.#lanes.run(volumeId, "change", change);
  }

  async #keep(note: VolumeNote): Promise<VolumeNote> {
    const kept = { ...note, usedAt: Date.now() };
    await this.#options.folders.save(kept);
    this.#notes.set(note.volumeId, kept);
    return kept;
  }

  async #forget(volumeId: string): Promise<void> {
    this.#notes.delete(volumeId);
    await this.#options.folders.remove(volumeId);
  }

  #still(volumeId: string): Reader {
    return (packer, signal) => readStill(this.imageOf(volumeId), packer, signal);
  }

  async #sync(note: VolumeNote, read: Reader, signal: AbortSignal): Promise<void> {
    const isOurs = await this.#transfer.store(note, read, signal, async (stored) => {
      await this.#keep(stored);
      this.#options.onStored();
    });
    if (!isOurs) await this.#overtaken(note);
  }

  /** Another host was given what was stored, or the volume was deleted: this copy is nobody's, and nobody waits for it. */
  async #overtaken(note: VolumeNote): Promise<void> {
    const isHeld = note.holder !== null;
    this.#transfer.forget(note);
    this.#options.log.warn({ isHeld }, "volume_copy_overtaken");
    if (isHeld) await this.#keep({ ...note, isOpen: false });
    else await this.#forget(note.volumeId);
    this.#options.onStored();
  }
}
