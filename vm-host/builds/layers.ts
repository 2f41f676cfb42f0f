import { stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { sizeOf } from "../disk/files.ts";
import type { RecordKeeper } from "../snapshots/keeper.ts";
import { RECORD_FILE } from "../snapshots/record.ts";
import type { Kept, Store } from "../snapshots/store.ts";
import type { Vm } from "../machines/vm.ts";

const BLOCK_BYTES = 512;

/** What the steps of builds have made: a record for each, found by the hash of all that led to it. */
export class LayerCache {
  readonly #store: Store;
  readonly #keeper: RecordKeeper;
  readonly #budgetBytes: number;

  constructor(store: Store, keeper: RecordKeeper, budgetBytes: number) {
    this.#store = store;
    this.#keeper = keeper;
    this.#budgetBytes = budgetBytes;
  }

  /** The layer of this key, which is used again now. */
  async find(key: string): Promise<Kept | null> {
    const kept = this.#store.get("layer", key);
    if (!kept) return null;
    const now = new Date();
    await utimes(join(kept.folder, RECORD_FILE), now, now).catch(() => null);
    return kept;
  }

  /** Keeps what a machine is now, which goes on; and drops what was not used for the longest time. */
  async keep(vm: Vm, key: string): Promise<void> {
    await this.#keeper.take(vm, { kind: "layer", id: key, isLive: true });
    await this.#keepBudget();
  }

  async drop(key: string): Promise<void> {
    await this.#store.remove("layer", key);
  }

  async #keepBudget(): Promise<void> {
    const used = await Promise.all(
      this.#store.all("layer").map(async ({ id }) => ({ id, usedAt: await this.#usedAt(id) })),
    );
    for (const { id } of used.toSorted((left, right) => left.usedAt - right.usedAt)) {
      if ((await this.#size()) <= this.#budgetBytes) return;
      await this.drop(id);
    }
  }

  async #usedAt(id: string): Promise<number> {
    const folder = this.#store.get("layer", id)?.folder ?? "";
    return stat(join(folder, RECORD_FILE)).then(
      ({ mtimeMs }) => mtimeMs,
      () => 0,
    );
  }

  /** What all of them take; a layer of a disk that several have counts once. */
  async #size(): Promise<number> {
    const records = this.#store.all("layer");
    const folders = records.flatMap(({ id }) => this.#store.get("layer", id)?.folder ?? []);
    const disks = new Set(records.flatMap((record) => this.#store.pathsOf(record)));
    const sizes = [
      ...folders.map((folder) => sizeOf(folder, []).catch(() => 0)),
      ...[...disks].map((disk) =>
        stat(disk).then(
          ({ blocks }) => blocks * BLOCK_BYTES,
          () => 0,
        ),
      ),
    ];
    return (await Promise.all(sizes)).reduce((sum, bytes) => sum + bytes, 0);
  }
}
