import type { Log } from "@svc/host-kit/log.ts";
import { Builds } from "./builds/builds.ts";
import { SharedPool } from "./shared/machines.ts";
import { SharedRests } from "./shared/states.ts";
import type { Capacity } from "./machines/capacity.ts";
import { VmStates } from "./states/states.ts";
import type { Store } from "./snapshots/store.ts";
import { Vms } from "./machines/vms.ts";
import type { Volumes } from "./volumes/volumes.ts";

/** Machines, and all that is done to them. */
export interface Acts {
  vms: Vms;
  states: VmStates;
  shared: SharedPool;
  builds: Builds;
}

export interface ActsParts {
  capacity: Capacity;
  store: Store;
  volumes: Volumes;
  hasEgress: boolean;
  log: Log;
  onChange: () => void;
}

export function openActs(parts: ActsParts): Acts {
  const { store, onChange } = parts;
  const vms = new Vms(parts);
  const pool = new SharedPool({ ...parts, vms });
  const shared = new SharedRests({ ...parts, vms, pool });
  const states = new VmStates({ ...parts, vms, shared });
  vms.know(states);
  return { vms, states, shared: pool, builds: new Builds(store, onChange) };
}
