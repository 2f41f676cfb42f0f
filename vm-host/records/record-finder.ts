import type { StateRefused } from "@svc/contract/host-protocol/vm-states.ts";
import type { Log } from "@svc/host-kit/log.ts";
import type { Fetcher } from "./fetcher.ts";
import { StateError, failed } from "../machines/state-error.ts";
import type { RecordStore, StoredRecord } from "./store.ts";

export interface FinderOptions {
  store: RecordStore;
  fetcher: Fetcher;
  log: Log;
}

/** Finds the record that a change of state is about: a record of this host, or a copy of another host's. */
export class RecordFinder {
  readonly #options: FinderOptions;

  constructor(options: FinderOptions) {
    this.#options = options;
  }

  /** The record of a machine that is paused here. */
  paused(id: string, code: StateRefused["code"]): StoredRecord {
    const stored = this.#options.store.get("paused", id);
    if (!stored) throw new StateError(404, code, "There is no such machine here.");
    return stored;
  }

  /** The record with this id, of a machine that is to be resumed. */
  async record(id: string, org: string, recordId: string): Promise<StoredRecord> {
    const { store } = this.#options;
    const own = [store.get("paused", id), store.get("checkpoint", id)];
    const here = own.find((stored) => stored?.record.recordId === recordId);
    const stored = here ?? (await this.#fetch(org, recordId));
    if (!stored) throw new StateError(409, "NotPaused", "There is no such record.");
    return stored;
  }

  /** A snapshot of this org, or null. */
  async snapshot(org: string, snapshotId: string): Promise<StoredRecord | null> {
    const stored = this.#options.store.get("snapshot", snapshotId);
    if (stored && (stored.record.org ?? org) === org) return stored;
    return this.#fetch(org, snapshotId);
  }

  async #fetch(org: string, recordId: string): Promise<StoredRecord | null> {
    const { fetcher, log } = this.#options;
    try {
      return await fetcher.get(org, recordId);
    } catch (error) {
      throw failed(error, "ResumeFailed", log);
    }
  }
}
