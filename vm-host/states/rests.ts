import type { VmEnded, VmParked } from "@svc/contract/host-protocol/vm-states.ts";
import type { Lanes } from "../lanes.ts";
import { Busy, StateError, unusedCheck } from "../machines/state-error.ts";
import type { Vms } from "../machines/vms.ts";
import type { RecordStore } from "../records/store.ts";
import type { Volumes } from "../volumes/volumes.ts";

interface RestParts {
  vms: Vms;
  store: RecordStore;
  volumes: Volumes;
  /** Of changes to a machine. */
  lanes: Lanes;
}

/** Parks a machine. With `unusedMs` only a machine is parked that nobody has used for so long. */
export function park(
  { vms, store, volumes, lanes }: RestParts,
  id: string,
  unusedMs?: number,
): Promise<VmParked> {
  return lanes.join(id, `park ${unusedMs ?? ""}`, async () => {
    const vm = vms.get(id);
    if (!vm) throw absent(store, id);
    const check = unusedCheck(vm, unusedMs);
    check();
    await volumes.flush(vm);
    check();
    if (!(await vm.park())) throw new Busy(vm.use.unusedMs);
    return { state: "running", parked: true, ...vms.stamp() };
  });
}

/** Ends a machine for good, unless it was used in the last `unusedMs`. */
export async function endUnused(
  { vms, store, lanes }: RestParts,
  id: string,
  unusedMs: number,
): Promise<VmEnded> {
  // Changes of the machine that are under way come first.
  await lanes.run(id, "end", async () => {
    const vm = vms.get(id);
    if (!vm) throw absent(store, id);
    unusedCheck(vm, unusedMs)();
  });
  await vms.end(id);
  return { state: "ended" };
}

/** Why nothing is done with a machine that does not run here. */
export function absent(store: RecordStore, id: string): StateError {
  return store.pausedRecordOf(id)
    ? new StateError(409, "NotRunning", "This machine is paused.")
    : new StateError(404, "NotRunning", "There is no such machine here.");
}
