import type { Log } from "@svc/host-kit/log.ts";
import type { VmHostConfig } from "../config.ts";
import type { Capacity } from "../machines/capacity.ts";
import type { Fetcher } from "../snapshots/fetcher.ts";
import { Finder } from "../snapshots/finder.ts";
import type { Store } from "../snapshots/store.ts";
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
  return { bases, layers, keeper, capacity, log };
}
