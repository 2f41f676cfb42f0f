import { randomBytes } from "node:crypto";
import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { VolumeMount } from "@svc/contract/host-protocol/volumes.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import { type ObjectStore, ObjectStoreError } from "@svc/host-kit/object-store.ts";
import { Lanes } from "../snapshots/lanes.ts";
import {
  CHUNK_BYTES,
  type Door,
  fetchImage,
  type Scan,
  scanImage,
  dropChunks,
  storeChunks,
} from "./chunks.ts";
import { fetchManifest, type StoredManifest, storeManifest } from "./manifests.ts";
import { changedAt } from "./mounted.ts";
import { type VolumeNote, type VolumePlace, makeImage, takeBack } from "./place.ts";

/** A sync that takes longer than this is begun anew. */
const SYNC_MS = 15 * 60_000;
/** A store that says nothing for so long is down. */
const OBJECT_MS = 20_000;
const RETRY_MS = 5_000;
const RETRY_MOST_MS = 60_000;
/** How long a copy that the store has too is kept for the next machine. */
const CACHED_MS = 60 * 60_000;

/** A volume cannot be had here and now: another try may work. */
export class VolumeBusy extends Error {}

export interface StockOptions {
  place: VolumePlace;
  hostId: string;
  /** A door to the object store that closes with the signal. */
  storeWith: (signal: AbortSignal) => ObjectStore;
  onStored: () => void;
  log: Log;
}

/** Lets a guest's writers wait while its image is read. */
export interface Freezer {
  freeze(): Promise<void>;
  thaw(): Promise<void>;
}

/**
 * The volumes that this host has a copy of: who has each, and how far the store is. What is done with one volume is done
 * one after the other; a sync under way breaks off for whoever needs the volume.
 */
export class VolumeStock {
  readonly #options: StockOptions;
  readonly #notes: Map<string, VolumeNote>;
  readonly #lanes = new Lanes();
  readonly #syncing = new Map<string, AbortController>();
  readonly #retries = new Map<string, NodeJS.Timeout>();
  readonly #closing = new AbortController();

  constructor(options: StockOptions, notes: VolumeNote[]) {
    this.#options = options;
    this.#notes = new Map(notes.map((note) => [note.volumeId, note]));
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
    return this.#options.place.imageOf(volumeId);
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
      // One that went on elsewhere meanwhile, and is back, has a newer copy there.
      if (note?.holder !== holder || mount.takeOver) {
        const newest = await this.#newest(note, mount);
        await this.#keep({ ...newest, epoch, path, holder });
      }
      return this.imageOf(volumeId);
    });
  }

  /** Takes from a sandbox what it has. What the store lacks of it follows. */
  async release(holder: string): Promise<void> {
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

  /** Resolves when nobody reads these images any more, and what is to be done then is. */
  async settle(volumeIds: string[], act = async (): Promise<void> => {}): Promise<void> {
    await Promise.all(volumeIds.map((id) => this.#alone(id, act)));
  }

  /** Stores what the store lacks, again and again until it is done. Of an image that nobody writes. */
  syncSoon(volumeId: string, tries = 0): void {
    clearTimeout(this.#retries.get(volumeId));
    this.#retries.delete(volumeId);
    this.sync(volumeId).catch((error: unknown) => {
      if (this.#closing.signal.aborted || this.#retries.has(volumeId)) return;
      const reason = messageOf(error);
      this.#options.log.warn({ tries, reason }, "a volume is not in the store yet");
      const waitMs = Math.min(RETRY_MOST_MS, RETRY_MS * 2 ** tries);
      const timer = setTimeout(() => this.syncSoon(volumeId, tries + 1), waitMs).unref();
      this.#retries.set(volumeId, timer);
    });
  }

  /** Stores what the store lacks, once. Without a freezer nobody may write the image. */
  sync(volumeId: string, freezer?: Freezer): Promise<void> {
    return this.#lanes.run(volumeId, "sync", async () => {
      const note = this.#notes.get(volumeId);
      // Whoever has it writes it again: the next sync is that one's.
      if (!note || (note.holder === null && !note.isOpen)) return;
      const breaking = new AbortController();
      this.#syncing.set(volumeId, breaking);
      const ends = [breaking.signal, this.#closing.signal, AbortSignal.timeout(SYNC_MS)];
      try {
        await this.#sync(note, AbortSignal.any(ends), freezer);
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

  /** A way to the store: nothing on it takes longer than one object may. */
  #doorWith(signal: AbortSignal): Door {
    return () => this.#options.storeWith(AbortSignal.any([signal, AbortSignal.timeout(OBJECT_MS)]));
  }

  /** Runs an act on a volume after those before it; a sync before it breaks off. */
  #alone<Result>(volumeId: string, act: () => Promise<Result>): Promise<Result> {
    this.#syncing.get(volumeId)?.abort();
    return this.#lanes.run(volumeId, "act", act);
  }

  async #keep(note: VolumeNote): Promise<VolumeNote> {
    const kept = { ...note, usedAt: Date.now() };
    await this.#options.place.save(kept);
    this.#notes.set(note.volumeId, kept);
    return kept;
  }

  async #forget(volumeId: string): Promise<void> {
    this.#notes.delete(volumeId);
    await this.#options.place.remove(volumeId);
  }

  /** A copy that is the newest there is, and of which the store says that it may be newer than what is stored. */
  async #newest(note: VolumeNote | undefined, mount: VolumeMount): Promise<VolumeNote> {
    const { volumeId, epoch } = mount;
    // Nobody had it between this host's last time and now: the store need not be asked.
    if (note?.isOpen && note.epoch === epoch - 1) return note;
    const store = this.#doorWith(this.#closing.signal);
    try {
      const folder = await this.#options.place.makeFolder(volumeId);
      const stored = await fetchManifest(store, volumeId, folder);
      if (note && (stored === null || stored.copy === note.copy))
        return await this.#open(store, note, stored, epoch);
      return await this.#open(store, await this.#fetched(store, mount, stored), stored, epoch);
    } catch (error) {
      if (error instanceof VolumeBusy) throw error;
      if (error instanceof ObjectStoreError && error.isChanged)
        throw new VolumeBusy("Another host took it, or stored it, at the same moment.");
      this.#options.log.warn({ reason: messageOf(error) }, "a volume could not be fetched");
      throw new VolumeBusy("The volume cannot be fetched from the store right now.");
    }
  }

  async #fetched(
    store: Door,
    { volumeId, epoch, path, takeOver }: VolumeMount,
    stored: StoredManifest | null,
  ): Promise<VolumeNote> {
    if (stored?.isOpen && stored.hostId !== this.#options.hostId && !takeOver)
      throw new VolumeBusy("Its last state lies with another host, which has not stored it yet.");
    const image = this.imageOf(volumeId);
    const isEmpty = Object.keys(stored?.chunks ?? {}).length === 0;
    if (stored && !isEmpty) await fetchImage(store, volumeId, stored, image);
    else await makeImage(image);
    const copy = randomBytes(12).toString("hex");
    return { volumeId, copy, epoch, path, holder: null, isOpen: true, storedAt: "", usedAt: 0 };
  }

  /** Says in the store that this copy may be newer from now on than what is there. */
  async #open(
    store: Door,
    note: VolumeNote,
    stored: StoredManifest | null,
    epoch: number,
  ): Promise<VolumeNote> {
    await this.#store(store, { ...note, epoch, isOpen: true }, stored?.chunks ?? {}, stored);
    return { ...note, isOpen: true };
  }

  async #store(
    store: Door,
    note: VolumeNote,
    chunks: Scan["chunks"],
    before: StoredManifest | null,
  ): Promise<void> {
    const { place, hostId } = this.#options;
    const { volumeId, epoch, isOpen, copy } = note;
    const { size: sizeBytes } = await stat(this.imageOf(volumeId));
    const facts = { version: 1, epoch, hostId, copy, isOpen, sizeBytes } as const;
    const manifest = { ...facts, chunkBytes: CHUNK_BYTES, chunks, storedAt: Date.now() };
    await storeManifest(store, volumeId, await place.saveManifest(volumeId, manifest), before);
  }

  async #sync(note: VolumeNote, signal: AbortSignal, freezer?: Freezer): Promise<void> {
    const { volumeId, holder } = note;
    const store = this.#doorWith(signal);
    const folder = await this.#options.place.makeFolder(volumeId);
    const stored = await fetchManifest(store, volumeId, folder);
    if (stored?.copy !== note.copy) return this.#overtaken(note);
    const packed = join(folder, "packed");
    try {
      const storedAt = await changedAt(this.imageOf(volumeId));
      const known = new Set(Object.values(stored.chunks));
      const { chunks, fresh } = await this.#scan(volumeId, known, signal, freezer);
      await storeChunks(store, volumeId, fresh, packed);
      const isOpen = holder !== null;
      await this.#store(store, { ...note, isOpen }, chunks, stored);
      await this.#keep({ ...note, isOpen, storedAt });
      this.#options.onStored();
      await dropChunks(store, volumeId, stored.chunks, chunks);
    } finally {
      await rm(packed, { recursive: true, force: true });
    }
  }

  async #scan(
    volumeId: string,
    known: ReadonlySet<string>,
    signal: AbortSignal,
    freezer?: Freezer,
  ): Promise<Scan> {
    const packed = await this.#options.place.makePacked(volumeId);
    await freezer?.freeze();
    try {
      return await scanImage(this.imageOf(volumeId), known, packed, signal);
    } finally {
      await freezer?.thaw();
    }
  }

  /** Another host was given what was stored, or the volume was deleted: this copy is nobody's, and nobody waits for it. */
  async #overtaken(note: VolumeNote): Promise<void> {
    const isHeld = note.holder !== null;
    this.#options.log.warn({ isHeld }, "a volume went on elsewhere without this copy");
    if (isHeld) await this.#keep({ ...note, isOpen: false });
    else await this.#forget(note.volumeId);
    this.#options.onStored();
  }
}
