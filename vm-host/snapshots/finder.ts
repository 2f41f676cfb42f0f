import type { StateRefused } from "@svc/contract/host-protocol/vm-states.ts";
import type { Log } from "@svc/host-kit/log.ts";
import type { Fetcher } from "./fetcher.ts";
import { StateError, failed } from "../states/state-error.ts";
import type { Kept, Store } from "./store.ts";

export interface FinderParts {
  store: Store;
  log: Log;
  fetcher: () => Fetcher;
}

/** Finds the record that an act is about: one of this host, or a copy of another host's. */
export class Finder {
  readonly #parts: FinderParts;

  constructor(parts: FinderParts) {
    this.#parts = parts;
  }

  /** The record of a machine that is paused here. */
  paused(id: string, code: StateRefused["code"]): Kept {
    const kept = this.#parts.store.get("paused", id);
    if (!kept) throw new StateError(404, code, "There is no such machine here.");
    return kept;
  }

  /** The record of this name, of a machine that shall be resumed. */
  async record(id: string, org: string, recordId: string): Promise<Kept> {
    const { store } = this.#parts;
    const own = [store.get("paused", id), store.get("checkpoint", id)];
    const here = own.find((kept) => kept?.record.recordId === recordId);
    const kept = here ?? (await this.#fetch(org, recordId));
    if (!kept) throw new StateError(409, "NotPaused", "There is no such record.");
    return kept;
  }

  /** A snapshot of this org, or null. */
  async snapshot(org: string, snapshotId: string): Promise<Kept | null> {
    const kept = this.#parts.store.get("snapshot", snapshotId);
    if (kept && (kept.record.org ?? org) === org) return kept;
    return this.#fetch(org, snapshotId);
  }

  async #fetch(org: string, recordId: string): Promise<Kept | null> {
    const { fetcher, log } = this.#parts;
    try {
      return await fetcher().get(org, recordId);
    } catch (error) {
      throw failed(error, "ResumeFailed", log);
    }
  }
}
