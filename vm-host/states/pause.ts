import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import type { Log } from "@svc/host-kit/log.ts";
import type { Vm } from "../machines/vm.ts";
import type { Vms } from "../machines/vms.ts";
import type { Volumes } from "../volumes/volumes.ts";
import type { RecordKeeper } from "../snapshots/keeper.ts";
import { failed } from "./state-error.ts";
import type { Kept, Store } from "../snapshots/store.ts";

export interface PauseParts {
  keeper: RecordKeeper;
  vms: Vms;
  store: Store;
  volumes: Volumes;
  log: Log;
}

/** Saves a machine and ends its process. If it cannot be saved it runs on. */
export async function pauseMachine(parts: PauseParts, vm: Vm): Promise<Kept> {
  const { keeper, vms, store, volumes, log } = parts;
  const startedAt = performance.now();
  await volumes.flush(vm);
  // What a record says of its disk must be true even if the machine dies at that moment.
  vm.machine.keepDisk(true);
  try {
    const { kept } = await keeper.take(vm, { kind: "paused", id: vm.id, isLive: false });
    vms.release(vm);
    vm.endSockets("paused", CLOSE_CODES.paused, "the sandbox was paused");
    await vm.machine.quit();
    await volumes.rested(vm.id);
    const tookMs = Math.round(performance.now() - startedAt);
    log.info({ machine: vm.machine.name, tookMs }, "a machine was paused");
    return kept;
  } catch (error) {
    vm.machine.keepDisk(false);
    // It may have ended already, with its disk.
    void vm.machine.exited.then(() => store.releaseLayers(vm.machine.layers));
    throw failed(error, "SnapshotFailed", log);
  }
}
