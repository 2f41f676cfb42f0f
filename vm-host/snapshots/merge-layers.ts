import { join } from "node:path";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import type { Rest, VmDriver } from "../driver.ts";
import { nameOf } from "../disk/files.ts";
import type { SnapshotRecord } from "./record.ts";
import type { Kept, Store } from "./store.ts";

/** Each layer costs every read of the disk a look. */
export const MOST_LAYERS = 8;

interface TidyParts {
  driver: VmDriver;
  store: Store;
  log: Log;
}

/** Makes few layers of many, of a record that nobody starts from meanwhile. It can break off anywhere. */
export async function tidyRecord(
  { store, driver, log }: TidyParts,
  restOf: (kept: Kept) => Promise<Rest>,
  { kind, id }: Pick<SnapshotRecord, "kind" | "id">,
): Promise<void> {
  try {
    for (let kept = store.get(kind, id); kept; kept = store.get(kind, id)) {
      const { layers } = kept.record;
      const [top = "", next] = layers;
      if (next === undefined || !store.isOnlyOf(kept.record, next)) break;
      if (!store.isOnlyOf(kept.record, top)) break;
      await driver.merge(join(store.layers, top));
      await store.change(kept, { layers: layers.slice(1) });
    }
    const kept = store.get(kind, id);
    if (!kept || kept.record.layers.length <= MOST_LAYERS) return;
    const layer = await driver.flatten(await restOf(kept));
    await store.change(kept, { layers: [nameOf(layer)] });
  } catch (error) {
    log.warn({ reason: messageOf(error) }, "the layers of a record stay as they are");
  }
}
