import { join } from "node:path";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import { nameOf } from "../disk/files.ts";
import type { VmDriver } from "../driver.ts";
import { MOST_LAYERS, type RecordKeeper } from "./keeper.ts";
import type { MachineRecord } from "./record.ts";
import type { RecordStore } from "./store.ts";

export interface MergerOptions {
  driver: VmDriver;
  store: RecordStore;
  keeper: RecordKeeper;
  log: Log;
}

/** Makes few disk layers of many. */
export class LayerMerger {
  readonly #options: MergerOptions;

  constructor(options: MergerOptions) {
    this.#options = options;
  }

  /** Of a record from which nobody starts a machine meanwhile. May break off anywhere. */
  async merge({ kind, id }: Pick<MachineRecord, "kind" | "id">): Promise<void> {
    const { store, driver, keeper, log } = this.#options;
    try {
      for (let stored = store.get(kind, id); stored; stored = store.get(kind, id)) {
        const { layers } = stored.record;
        const [top = "", next] = layers;
        if (next === undefined || !store.isOnlyOf(stored.record, next)) break;
        if (!store.isOnlyOf(stored.record, top)) break;
        await driver.merge(join(store.layers, top));
        await store.change(stored, { layers: layers.slice(1) });
      }
      const stored = store.get(kind, id);
      if (!stored || stored.record.layers.length <= MOST_LAYERS) return;
      const layer = await driver.flatten(await keeper.savedMachineOf(stored));
      await store.change(stored, { layers: [nameOf(layer)] });
    } catch (error) {
      log.warn({ reason: messageOf(error) }, "layers_not_merged");
    }
  }
}
