import { setTimeout as pause } from "node:timers/promises";
import type { BuildReport, BuildTemplate } from "@svc/contract/host-protocol/templates.ts";
import { TEMPLATE_LIMITS } from "@svc/contract/vm/template-limits.ts";
import type { Store } from "../snapshots/store.ts";
import { Build, type BuildMeans } from "./build.ts";

const SWEEP_MS = 10_000;
const CLOSE_MS = 1_500;

/** The builds of this host: one at a time, in their order, and what came of them. */
export class Builds {
  readonly #store: Store;
  readonly #onChange: () => void;
  readonly #builds = new Map<string, Build>();
  #means: BuildMeans | null = null;
  #queue: Promise<void> = Promise.resolve();
  #sweep: NodeJS.Timeout | undefined;

  constructor(store: Store, onChange: () => void) {
    this.#store = store;
    this.#onChange = onChange;
  }

  /** Machines can be made from now on. */
  open(means: BuildMeans): void {
    this.#means = means;
    this.#sweep = setInterval(() => this.#endUnheard(), SWEEP_MS).unref();
  }

  /** Templates of customers that are here. */
  get held(): string[] {
    const records = this.#store.all("snapshot");
    return records.map(({ id }) => id).filter((id) => id.startsWith("tpl_"));
  }

  /** Begins a build, or does nothing where it is begun already. False while this host cannot build. */
  start(id: string, ask: BuildTemplate): boolean {
    const means = this.#means;
    if (!means) return false;
    if (this.#builds.has(id) || this.#store.get("snapshot", id)) return true;
    const build = new Build(id, ask);
    this.#builds.set(id, build);
    this.#queue = this.#queue.then(async () => {
      await build.run(means);
      this.#onChange();
    });
    return true;
  }

  /** How a build stands; waits up to `waitMs` for news beyond `offset`. Null where there is none. */
  async report(id: string, offset: number, waitMs: number): Promise<BuildReport | null> {
    const build = this.#builds.get(id);
    if (!build) return this.#kept(id, offset);
    build.askedAt = performance.now();
    if (!build.isOver && build.log.end <= offset) await build.log.news(waitMs);
    build.askedAt = performance.now();
    return build.report(offset);
  }

  /** Ends a build; what came of it is another's to remove. */
  async end(id: string): Promise<void> {
    const build = this.#builds.get(id);
    this.#builds.delete(id);
    if (!build || build.isOver) return;
    build.cancel();
    // Its machine is gone, and nothing is written any more, when this is over.
    while (!build.isOver) await build.log.news(SWEEP_MS);
  }

  async close(): Promise<void> {
    clearInterval(this.#sweep);
    for (const build of this.#builds.values()) build.cancel("The host stops.");
    // What copies files at that moment ends with the process; it is none of a record yet.
    await Promise.race([this.#queue, pause(CLOSE_MS, null, { ref: false })]);
  }

  /** What an earlier run of this host has built. */
  #kept(id: string, offset: number): BuildReport | null {
    const record = this.#store.get("snapshot", id)?.record;
    if (!record) return null;
    const { cpu, memMb, diskGb, sizeBytes } = record;
    const got = { cpu, memMb, diskGb, sizeBytes };
    return { state: "ready", step: 0, entries: [], nextOffset: offset, got };
  }

  /** Nobody asks any more: the gateway has forgotten it, or has given it to another host. */
  #endUnheard(): void {
    for (const [id, { askedAt, isOver }] of this.#builds) {
      if (performance.now() - askedAt < TEMPLATE_LIMITS.unheardMs) continue;
      if (isOver) this.#builds.delete(id);
      else void this.end(id);
    }
  }
}
