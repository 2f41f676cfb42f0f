import { stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { sizeOf } from "../disk/files.ts";
import type { RecordKeeper } from "../records/keeper.ts";
import { RECORD_FILE } from "../records/record.ts";
import type { RecordStore, StoredRecord } from "../records/store.ts";
import type { Vm } from "../machines/vm.ts";

const BLOCK_BYTES = 512;

/** The results of build steps: a record for each, found by the hash of all that led to it. */
export class StepCache {
  readonly #store: RecordStore;
  readonly #keeper: RecordKeeper;
  readonly #budgetBytes: number;

  constructor(store: RecordStore, keeper: RecordKeeper, budgetBytes: number) {
    this.#store = store;
    this.#keeper = keeper;
    this.#budgetBytes = budgetBytes;
  }

  /** The result of this key, which is used again now. */
  async find(key: string): Promise<StoredRecord | null> {
    const stored = this.#store.get("step", key);
    if (!stored) return null;
    const now = new Date();
    await utimes(join(stored.folder, RECORD_FILE), now, now).catch(() => null);
    return stored;
  }

  /** Keeps what a machine is now, which goes on; drops results that were not used for the longest time. */
  async keep(vm: Vm, key: string): Promise<void> {
    await this.#keeper.take(vm, { kind: "step", id: key, isLive: true });
    await this.#keepBudget();
  }

  async drop(key: string): Promise<void> {
    await this.#store.remove("step", key);
  }

  async #keepBudget(): Promise<void> {
    const used = await Promise.all(
      this.#store.all("step").map(async ({ id }) => ({ id, usedAt: await this.#usedAt(id) })),
    );
    for (const { id } of used.toSorted((left, right) => left.usedAt - right.usedAt)) {
      if ((await this.#size()) <= this.#budgetBytes) return;
      await this.drop(id);
    }
  }

  async #usedAt(id: string): Promise<number> {
    const folder = this.#store.get("step", id)?.folder ?? "";
    return stat(join(folder, RECORD_FILE)).then(
      ({ mtimeMs }) => mtimeMs,
      () => 0,
    );
  }

  /** What all results take; a disk layer that several have counts once. */
  async #size(): Promise<number> {
    const records = this.#store.all("step");
    const folders = records.flatMap(({ id }) => this.#store.get("step", id)?.folder ?? []);
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
