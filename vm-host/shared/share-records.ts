import type { VmReport } from "@svc/contract/host-protocol/vms.ts";
import type { RecordStore, StoredRecord } from "../records/store.ts";
import type { Homes } from "./homes.ts";

/** What this host has saved of shares: a share lies in the record of its home. */
export class ShareRecords {
  readonly #store: RecordStore;
  readonly #homes: Homes;

  constructor(store: RecordStore, homes: Homes) {
    this.#store = store;
    this.#homes = homes;
  }

  /** Of all saved shares; those that run are among them. */
  reports(): VmReport[] {
    return this.#store.all("home").flatMap(({ recordId, sizeBytes, home }) =>
      (home?.shares ?? []).map(({ id, lastActivityAt }): VmReport => {
        return { id, state: "paused", lastActivityAt, recordId, durable: false, sizeBytes };
      }),
    );
  }

  /** The last checkpoint of a share that runs, for its report. */
  checkpointOf(id: string): Partial<VmReport> {
    const record = this.#store.homeRecordOf(id);
    if (!record) return {};
    const { recordId, durable, sizeBytes, createdAt: checkpointAt } = record;
    return { recordId, durable, sizeBytes, checkpointAt };
  }

  /** A share has ended. True when it is paused from now on: not while its home goes on without it. */
  async onDied(id: string): Promise<boolean> {
    const record = this.#store.homeRecordOf(id);
    if (!record) return false;
    const home = this.#homes.get(record.id);
    return !home || home.hasEnded();
  }

  /** Forgets a paused share, and ends it in its home. */
  async remove(id: string): Promise<void> {
    const found = this.#store.homeRecordOf(id);
    if (!found) return;
    await this.#homes.lanes.run(found.id, "remove", async () => {
      const stored = this.#store.get("home", found.id);
      const saved = stored?.record.home?.shares.find((share) => share.id === id);
      if (!stored || !saved) return;
      await this.forget(stored, id);
      await this.#homes.getOpen(found.id)?.drop(saved.share.id);
    });
  }

  /** Takes a share out of a record; a record without shares is no longer needed. */
  async forget(stored: StoredRecord, id: string): Promise<void> {
    const { home } = stored.record;
    const shares = home?.shares.filter((share) => share.id !== id) ?? [];
    if (home && shares.length > 0) await this.#store.change(stored, { home: { ...home, shares } });
    else await this.#store.remove("home", stored.record.id);
  }
}
