import type { VmReport } from "@svc/contract/host-protocol/vms.ts";
import type { Lanes } from "../lanes.ts";
import type { VmRecords } from "../machines/vms.ts";
import type { RecordStore } from "../records/store.ts";
import type { ShareRecords } from "../shared/share-records.ts";
import type { Volumes } from "../volumes/volumes.ts";

export interface PausedMachinesParts {
  store: RecordStore;
  shares: ShareRecords;
  volumes: Volumes;
  /** Of changes to a machine. */
  lanes: Lanes;
  onChange: () => void;
}

/** The machines that are paused on this host: known, and removed, also while no machine can be made. */
export class PausedMachines implements VmRecords {
  readonly #parts: PausedMachinesParts;

  constructor(parts: PausedMachinesParts) {
    this.#parts = parts;
  }

  reports(): VmReport[] {
    const { store, shares } = this.#parts;
    const own = store.all("paused").map((record): VmReport => {
      const { id, lastActivityAt, recordId, durable, sizeBytes } = record;
      return { id, state: "paused", lastActivityAt, recordId, durable, sizeBytes };
    });
    return [...own, ...shares.reports()];
  }

  checkpointOf(id: string): Partial<VmReport> {
    const { store, shares } = this.#parts;
    const record = store.get("checkpoint", id)?.record;
    if (!record) return shares.checkpointOf(id);
    const { recordId, durable, sizeBytes, createdAt: checkpointAt } = record;
    return { recordId, durable, sizeBytes, checkpointAt };
  }

  isPaused(id: string): boolean {
    return this.#parts.store.pausedRecordOf(id) !== undefined;
  }

  /** Paused as of what was last saved of it, with the volumes that it has. */
  onDied(id: string, isReplaced: () => boolean): Promise<boolean> {
    const { store, shares, volumes, lanes } = this.#parts;
    // What is under way with it has failed by then.
    return lanes.run(id, "died", async () => {
      if (isReplaced()) return false;
      const checkpoint = store.get("checkpoint", id);
      // A machine that died while it was being paused may have both: the newer record is whole.
      if (checkpoint && !store.get("paused", id))
        await store.change(checkpoint, { kind: "paused", id });
      const isPaused = store.get("paused", id) !== undefined || (await shares.onDied(id));
      if (isPaused) await volumes.paused(id);
      return isPaused;
    });
  }

  async remove(id: string): Promise<void> {
    const { store, shares, lanes, onChange } = this.#parts;
    await lanes.run(id, "remove", async () => {
      await store.remove("paused", id);
      await store.remove("checkpoint", id);
      await shares.remove(id);
    });
    onChange();
  }
}
