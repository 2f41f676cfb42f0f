import { type Log, messageOf } from "@svc/host-kit/log.ts";
import type { Rest, Template, VmDriver } from "../driver.ts";
import { hashOf } from "../images/recipe.ts";
import type { Templates } from "../templates/templates.ts";
import { type SnapshotRecord, lifeOf } from "./record.ts";
import type { Kept, Store } from "./store.ts";

/** A record that was forked so often is made a template, whose pages its machines share. */
const FORKS_TO_PROMOTE = 2;
const QUIET_MS = 1_500;
/** One that is forked all the time needs it most. */
const LONGEST_MS = 10_000;

export interface PromotionParts {
  driver: VmDriver;
  templates: Templates;
  store: Store;
  log: Log;
}

/** Makes templates of records that are forked often. */
export class Promotion {
  readonly #parts: PromotionParts;
  /** Records that are being made templates, and those that could not be. */
  readonly #promoting = new Set<string>();
  /** Those that will be, once it is quiet. */
  readonly #waiting = new Map<string, { timer: NodeJS.Timeout; until: number }>();

  constructor(parts: PromotionParts) {
    this.#parts = parts;
  }

  /** The template of a record that is forked, or null. Counts the fork; the making is not waited for. */
  async of(kept: Kept, rest: Rest): Promise<Template | null> {
    const { templates, store } = this.#parts;
    const { record } = kept;
    // Clones of a template have nothing plugged in.
    if (record.mode === "stream" || record.volumes.length > 0) return null;
    const template = await templates.get(keyOfTemplate(record), rest.spec);
    if (template) return template;
    const forks = (store.get(record.kind, record.id)?.record.forks ?? 0) + 1;
    // Beyond that nobody counts.
    if (forks <= FORKS_TO_PROMOTE) void store.change(kept, { forks }).catch(() => null);
    if (forks >= FORKS_TO_PROMOTE) this.#soon(kept, rest);
    return null;
  }

  async make({ record }: Kept, rest: Rest): Promise<void> {
    const { templates, driver, store } = this.#parts;
    const key = keyOfTemplate(record);
    const drop = store.useOf(record.layers);
    const fill = (folder: string): Promise<void> => driver.spread(rest, folder);
    await templates.adopt({ key, spec: rest.spec, life: lifeOf(record), fill }).finally(drop);
  }

  /** Once nobody has forked it for a moment: the work would take the processor from the forks. But not never. */
  #soon(kept: Kept, rest: Rest): void {
    const key = keyOfTemplate(kept.record);
    if (this.#promoting.has(key)) return;
    const known = this.#waiting.get(key);
    clearTimeout(known?.timer);
    const until = known?.until ?? performance.now() + LONGEST_MS;
    const inMs = Math.max(0, Math.min(QUIET_MS, until - performance.now()));
    const timer = setTimeout(() => void this.#now(key, kept, rest), inMs).unref();
    this.#waiting.set(key, { timer, until });
  }

  async #now(key: string, kept: Kept, rest: Rest): Promise<void> {
    this.#waiting.delete(key);
    if (!this.#parts.store.get(kept.record.kind, kept.record.id)) return;
    this.#promoting.add(key);
    try {
      await this.make(kept, rest);
      this.#promoting.delete(key);
    } catch (error) {
      // It is not tried again by this run of the host.
      this.#parts.log.warn({ reason: messageOf(error) }, "a snapshot could not be a template");
    }
  }
}

/** The key of the template that a record is made. */
const keyOfTemplate = ({ recordId, createdAt }: SnapshotRecord): string =>
  hashOf("record", recordId, createdAt);
