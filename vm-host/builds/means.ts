import type { Log } from "@svc/host-kit/log.ts";
import type { VmHostConfig } from "../config.ts";
import type { Capacity } from "../sizes.ts";
import type { Fetcher } from "../snapshots/fetcher.ts";
import { Finder } from "../snapshots/finder.ts";
import { keyOfTemplate, lifeOf } from "../snapshots/record.ts";
import type { Kept, Store } from "../snapshots/store.ts";
import { Bases, type BasesParts } from "./base.ts";
import type { BuildMeans } from "./build.ts";
import { LayerCache } from "./layers.ts";

export interface MeansParts extends Omit<BasesParts, "finder"> {
  config: VmHostConfig;
  capacity: Capacity;
  store: Store;
  fetcher: Fetcher;
  log: Log;
}

/** What builds need, of what the host has. */
export function buildMeans({
  config,
  capacity,
  store,
  fetcher,
  log,
  ...parts
}: MeansParts): BuildMeans {
  const { keeper } = parts;
  const finder = new Finder({ store, log, fetcher: () => fetcher });
  const bases = new Bases({ ...parts, finder });
  const layers = new LayerCache(store, keeper, config.layerBytes);
  const promote = (kept: Kept): Promise<void> => promoted(kept, { ...parts, store });
  return { bases, layers, keeper, promote, capacity, log };
}

/** Makes a record a template now: what is started from it shares its pages. Nothing where it cannot be one. */
async function promoted(
  kept: Kept,
  {
    keeper,
    templates,
    driver,
    store,
  }: Pick<MeansParts, "keeper" | "templates" | "driver" | "store">,
): Promise<void> {
  const { record } = kept;
  if (record.mode === "stream") return;
  const rest = await keeper.restOf(kept);
  const drop = store.useOf(record.layers);
  const fill = (folder: string): Promise<void> => driver.spread(rest, folder);
  const key = keyOfTemplate(record);
  await templates.adopt({ key, spec: rest.spec, life: lifeOf(record), fill }).finally(drop);
}
