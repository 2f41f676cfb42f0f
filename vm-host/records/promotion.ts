import { type Log, messageOf } from "@svc/host-kit/log.ts";
import type { GoldenMachine, SavedMachine, VmDriver } from "../driver.ts";
import type { GoldenMachines } from "../golden/golden-machines.ts";
import { hashOf } from "../images/recipe.ts";
import { lifeOf } from "../life.ts";
import type { MachineRecord } from "./record.ts";
import type { RecordStore, StoredRecord } from "./store.ts";

/** A record that was forked so often becomes a golden machine, whose pages its machines share. */
const FORKS_TO_PROMOTE = 2;
const QUIET_MS = 1_500;
/** A record that is forked all the time is promoted after this time, though it is not quiet. */
const LONGEST_MS = 10_000;

export interface PromotionParts {
  driver: VmDriver;
  goldenMachines: GoldenMachines;
  store: RecordStore;
  log: Log;
}

/** Makes golden machines of records that are forked often (promotes them). */
export class Promotion {
  readonly #parts: PromotionParts;
  /** Keys of records that are being promoted, and of records that could not be. */
  readonly #promoting = new Set<string>();
  /** Keys of records that are promoted once it is quiet. */
  readonly #waiting = new Map<string, { timer: NodeJS.Timeout; until: number }>();

  constructor(parts: PromotionParts) {
    this.#parts = parts;
  }

  /** The golden machine of a record that is forked, or null. Counts the fork; the making is not waited for. */
  async of(stored: StoredRecord, saved: SavedMachine): Promise<GoldenMachine | null> {
    const { goldenMachines, store } = this.#parts;
    const { record } = stored;
    // Clones of a golden machine have nothing plugged in.
    if (record.mode === "stream" || record.volumes.length > 0) return null;
    const golden = await goldenMachines.get(keyOfGolden(record), saved.spec);
    if (golden) return golden;
    const forks = (store.get(record.kind, record.id)?.record.forks ?? 0) + 1;
    // Beyond that nobody counts.
    if (forks <= FORKS_TO_PROMOTE) void store.change(stored, { forks }).catch(() => null);
    if (forks >= FORKS_TO_PROMOTE) this.#soon(stored, saved);
    return null;
  }

  async make({ record }: StoredRecord, saved: SavedMachine): Promise<void> {
    const { goldenMachines, driver, store } = this.#parts;
    const key = keyOfGolden(record);
    const drop = store.useOf(record.layers);
    const fill = (folder: string): Promise<void> => driver.spread(saved, folder);
    await goldenMachines.adopt({ key, spec: saved.spec, life: lifeOf(record), fill }).finally(drop);
  }

  /** Once nobody has forked it for a moment: the work would take the processor from the forks. But not never. */
  #soon(stored: StoredRecord, saved: SavedMachine): void {
    const key = keyOfGolden(stored.record);
    if (this.#promoting.has(key)) return;
    const known = this.#waiting.get(key);
    clearTimeout(known?.timer);
    const until = known?.until ?? performance.now() + LONGEST_MS;
    const inMs = Math.max(0, Math.min(QUIET_MS, until - performance.now()));
    const timer = setTimeout(() => void this.#now(key, stored, saved), inMs).unref();
    this.#waiting.set(key, { timer, until });
  }

  async #now(key: string, stored: StoredRecord, saved: SavedMachine): Promise<void> {
    this.#waiting.delete(key);
    if (!this.#parts.store.get(stored.record.kind, stored.record.id)) return;
    this.#promoting.add(key);
    try {
      await this.make(stored, saved);
      this.#promoting.delete(key);
    } catch (error) {
      // It is not tried again by this run of the host.
      this.#parts.log.warn(
        { record: stored.record.recordId, reason: messageOf(error) },
        "promotion_failed",
      );
    }
  }
}

/** The key of the golden machine that a record is made. */
const keyOfGolden = ({ recordId, createdAt }: MachineRecord): string =>
  hashOf("record", recordId, createdAt);
