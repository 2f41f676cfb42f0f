import type { RecordStore } from "./store.ts";

const AT_ONCE = 200;

/** Which snapshots are in the object store: each is told to the gateway until the gateway has heard it. */
export class DurableSnapshots {
  readonly #store: RecordStore;
  readonly #told = new Set<string>();

  constructor(store: RecordStore) {
    this.#store = store;
  }

  /** As many as one heartbeat tells. */
  get next(): string[] {
    const durable = this.#store.all("snapshot").filter((record) => record.durable);
    const ids = durable.map(({ id }) => id);
    // A snapshot that is gone need not be remembered.
    for (const id of this.#told) if (!ids.includes(id)) this.#told.delete(id);
    return ids.filter((id) => !this.#told.has(id)).slice(0, AT_ONCE);
  }

  heard(ids: string[]): void {
    for (const id of ids) this.#told.add(id);
  }
}
