import type { Log } from "@svc/host-kit/log.ts";
import { ObjectStore } from "@svc/host-kit/object-store.ts";
import type { VmHostConfig } from "../config.ts";
import type { VmDriver } from "../driver.ts";
import type { Capacity } from "../machines/capacity.ts";
import type { Templates } from "../templates/templates.ts";
import type { Volumes } from "../volumes/volumes.ts";
import { Fetcher } from "./fetcher.ts";
import { RecordKeeper } from "./keeper.ts";
import { noRoom } from "../states/start-from-record.ts";
import { Shipper } from "./shipper.ts";
import type { VmStates } from "../states/states.ts";
import type { Store } from "./store.ts";

export interface RecordRoomParts {
  config: VmHostConfig;
  driver: VmDriver;
  templates: Templates;
  store: Store;
  states: VmStates;
  volumes: Volumes;
  capacity: Capacity;
  log: Log;
  /** A record got to the object store. */
  onDurable: () => void;
}

/** What makes, ships and fetches records. */
export interface RecordRoom {
  keeper: RecordKeeper;
  fetcher: Fetcher;
  close(): Promise<void>;
}

/** Opens it: possible once there are machines. What an earlier run of the host left undone is done from now on. */
export function openRecordRoom(parts: RecordRoomParts): RecordRoom {
  const { config, driver, templates, store, states, volumes, capacity, log, onDurable } = parts;
  const { gatewayUrl, hostToken, cacheDir } = config;
  const closing = new AbortController();
  const objects = new ObjectStore({ gatewayUrl, hostToken, signal: closing.signal });
  store.inUse = () => driver.layersInUse();
  const keeper = new RecordKeeper({ driver, templates, store, cacheDir, log });
  const checkRoom = (size: { cpu: number; memMb: number }): void => {
    const room = capacity.take(size);
    if (typeof room === "string") throw noRoom(room);
    room();
  };
  const fetcher = new Fetcher({ store, keeper, driver, templates, objects, checkRoom });
  const tidy = (id: string): Promise<void> => states.tidy(id);
  const delayMs = config.shipDelayMs;
  const shipper = new Shipper({ store, keeper, objects, volumes, delayMs, log, tidy, onDurable });
  states.open({ keeper, fetcher });
  store.onChange = () => shipper.wake();
  volumes.onStored = () => shipper.wake();
  shipper.wake();
  return {
    keeper,
    fetcher,
    async close() {
      closing.abort();
      await shipper.close();
    },
  };
}
