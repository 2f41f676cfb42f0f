import type { BuildReport, BuildTemplate } from "@svc/contract/host-protocol/templates.ts";
import { TEMPLATE_LIMITS } from "@svc/contract/vm/template-limits.ts";
import { inTime } from "@svc/host-kit/deadline.ts";
import type { RecordStore } from "../records/store.ts";
import { Build, type BuildTools } from "./build.ts";

const SWEEP_MS = 10_000;
const CLOSE_MS = 1_500;

/** The builds of this host: one at a time, in their order, and their results. */
export class Builds {
  readonly #store: RecordStore;
  readonly #tools: BuildTools;
  readonly #onChange: () => void;
  readonly #builds = new Map<string, Build>();
  readonly #sweep: NodeJS.Timeout;
  #queue: Promise<void> = Promise.resolve();

  constructor(store: RecordStore, tools: BuildTools, onChange: () => void) {
    this.#store = store;
    this.#tools = tools;
    this.#onChange = onChange;
    this.#sweep = setInterval(() => this.#endUnheard(), SWEEP_MS).unref();
  }

  /** Begins a build, or does nothing where it is begun already. */
  start(id: string, ask: BuildTemplate): void {
    if (this.#builds.has(id) || this.#store.get("snapshot", id)) return;
    const build = new Build(id, ask, this.#tools);
    this.#builds.set(id, build);
    this.#queue = this.#queue.then(async () => {
      await build.run();
      this.#onChange();
    });
  }

  /** How a build stands; waits up to `waitMs` for lines beyond `offset`. Null where there is no such build. */
  async report(id: string, offset: number, waitMs: number): Promise<BuildReport | null> {
    const build = this.#builds.get(id);
    if (!build) return reportOfTemplate(this.#store, id, offset);
    build.askedAt = performance.now();
    if (!build.isOver && build.log.end <= offset) await build.log.changed(waitMs);
    build.askedAt = performance.now();
    return build.report(offset);
  }

  /** Ends a build; its result stays. */
  async end(id: string): Promise<void> {
    const build = this.#builds.get(id);
    this.#builds.delete(id);
    if (!build || build.isOver) return;
    build.cancel();
    // When the loop ends, the machine is gone and nothing is written any more.
    while (!build.isOver) await build.log.changed(SWEEP_MS);
  }

  async close(): Promise<void> {
    clearInterval(this.#sweep);
    for (const build of this.#builds.values()) build.cancel("The host stops.");
    // A copy of files that is under way ends with the process; no record has them yet.
    await inTime(this.#queue, CLOSE_MS);
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

/** The report of a template that an earlier run of this host has built; null where there is none. */
export function reportOfTemplate(
  store: RecordStore,
  id: string,
  offset: number,
): BuildReport | null {
  const record = store.get("snapshot", id)?.record;
  if (!record) return null;
  const { cpu, memMb, diskGb, sizeBytes } = record;
  const got = { cpu, memMb, diskGb, sizeBytes };
  return { state: "ready", step: 0, entries: [], nextOffset: offset, got };
}

/** Templates of customers that are on this host. */
export const templatesIn = (store: RecordStore): string[] =>
  store
    .all("snapshot")
    .map(({ id }) => id)
    .filter((id) => id.startsWith("tpl_"));
