import { randomBytes } from "node:crypto";
import { rm, stat } from "node:fs/promises";
import type { VolumeMount } from "@svc/contract/host-protocol/volumes.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import { type ObjectStore, ObjectStoreError } from "@svc/host-kit/object-store.ts";
import { type Door, dropChunks, fetchImage, storeChunks } from "./chunks.ts";
import { fetchManifest, type StoredManifest, storeManifest } from "./manifests.ts";
import { type VolumeNote, type VolumeFolders, makeImage } from "./folders.ts";
import { CHUNK_BYTES, type Chunks, Packer, type Scan } from "./reading.ts";

/** A store that says nothing for so long is down. */
const OBJECT_MS = 20_000;

/** A volume cannot be had here and now: another try may work. */
export class VolumeBusy extends Error {}

export interface TransferOptions {
  folders: VolumeFolders;
  hostId: string;
  /** A door to the object store that closes with the signal. */
  storeWith: (signal: AbortSignal) => ObjectStore;
  log: Log;
}

/** Reads what an image is made of. */
export type Reader = (packer: Packer, signal: AbortSignal) => Promise<Scan>;

/** How a host's copies of volumes come from the object store, and go there. */
export class VolumeTransfer {
  readonly #options: TransferOptions;
  /** Chunks in the store that no manifest names yet, by copy: left by uploads that broke off. */
  readonly #sent = new Map<string, Set<string>>();

  constructor(options: TransferOptions) {
    this.#options = options;
  }

  /** The newest local copy, whose manifest in the store is open. */
  async newest(
    note: VolumeNote | undefined,
    mount: VolumeMount,
    signal: AbortSignal,
  ): Promise<VolumeNote> {
    const { volumeId, epoch } = mount;
    // Nobody had it between this host's last time and now: the store need not be asked.
    if (note?.isOpen && note.epoch === epoch - 1) return note;
    const store = this.#doorWith(signal);
    try {
      const folder = await this.#options.folders.makeFolder(volumeId);
      const stored = await fetchManifest(store, volumeId, folder);
      if (note && (stored === null || stored.copy === note.copy))
        return await this.#open(store, note, stored, epoch);
      if (note) this.forget(note);
      return await this.#open(store, await this.#fetched(store, mount, stored), stored, epoch);
    } catch (error) {
      if (error instanceof VolumeBusy) throw error;
      if (error instanceof ObjectStoreError && error.isChanged)
        throw new VolumeBusy("Another host took it, or stored it, at the same moment.");
      this.#options.log.warn({ reason: messageOf(error) }, "volume_fetch_failed");
      throw new VolumeBusy("The volume cannot be fetched from the store right now.");
    }
  }

  /**
   * Stores what the store lacks of a copy, and tells of it before it removes what the store no longer needs. False when the
   * volume went on elsewhere without this copy.
   */
  async store(
    note: VolumeNote,
    read: Reader,
    signal: AbortSignal,
    onStored: (note: VolumeNote) => Promise<void>,
  ): Promise<boolean> {
    const { volumeId, holder, copy } = note;
    const { folders } = this.#options;
    const store = this.#doorWith(signal);
    const stored = await fetchManifest(store, volumeId, await folders.makeFolder(volumeId));
    if (stored?.copy !== copy) return false;
    const sent = this.#sentOf(copy);
    const has = (): Set<string> => new Set([...Object.values(stored.chunks), ...sent]);
    const folder = await folders.makePacked(volumeId);
    try {
      const send = (fresh: string[]): Promise<void> =>
        storeChunks(store, volumeId, { fresh, folder }, (hash) => sent.add(hash));
      const { chunks, fresh, changedAt } = await read(new Packer(folder, has(), send), signal);
      await send(fresh);
      const now = { ...note, isOpen: holder !== null, storedAt: changedAt };
      await this.#storeManifest(store, now, chunks, stored);
      // Before any is removed: what is not there must not be taken for sent.
      const before = has();
      this.forget(note);
      await onStored(now);
      await dropChunks(store, volumeId, before, Object.values(chunks));
      return true;
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** The copy is gone, or nobody's. */
  forget({ copy }: VolumeNote): void {
    this.#sent.delete(copy);
  }

  /** A way to the store: nothing on it takes longer than one object may. */
  #doorWith(signal: AbortSignal): Door {
    return () => this.#options.storeWith(AbortSignal.any([signal, AbortSignal.timeout(OBJECT_MS)]));
  }

  #sentOf(copy: string): Set<string> {
    const sent = this.#sent.get(copy) ?? new Set();
    this.#sent.set(copy, sent);
    return sent;
  }

  async #fetched(
    store: Door,
    { volumeId, epoch, path, takeOver }: VolumeMount,
    stored: StoredManifest | null,
  ): Promise<VolumeNote> {
    const { folders, hostId } = this.#options;
    if (stored?.isOpen && stored.hostId !== hostId && !takeOver)
      throw new VolumeBusy("Its last state lies with another host, which has not stored it yet.");
    const image = folders.imageOf(volumeId);
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
    const open = { ...note, epoch, isOpen: true };
    await this.#storeManifest(store, open, stored?.chunks ?? {}, stored);
    return { ...note, isOpen: true };
  }

  async #storeManifest(
    store: Door,
    note: VolumeNote,
    chunks: Chunks,
    before: StoredManifest | null,
  ): Promise<void> {
    const { folders, hostId } = this.#options;
    const { volumeId, epoch, isOpen, copy } = note;
    const { size: sizeBytes } = await stat(folders.imageOf(volumeId));
    const facts = { version: 1, epoch, hostId, copy, isOpen, sizeBytes } as const;
    const manifest = { ...facts, chunkBytes: CHUNK_BYTES, chunks, storedAt: Date.now() };
    await storeManifest(store, volumeId, await folders.saveManifest(volumeId, manifest), before);
  }
}
