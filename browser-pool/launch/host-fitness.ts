import type { PoolHeartbeat } from "@svc/contract/host-protocol/heartbeat.ts";
import { Cgroups } from "@svc/host-kit/cgroups.ts";
import { type Fitness, type Unfit, judge } from "./fitness.ts";

const AGAIN_MS = 30_000;

/** Whether this host can serve browsers, and how well. Judged again while it is unfit, so that a fix takes effect. */
export class HostFitness {
  readonly #cgroups: Cgroups | null;
  readonly #chromium: string | null;
  readonly #becameFit = Promise.withResolvers<void>();
  #judgement: Fitness | Unfit;
  #timer: NodeJS.Timeout | null = null;

  private constructor(
    chromium: string | null,
    judgement: Fitness | Unfit,
    cgroups: Cgroups | null,
  ) {
    this.#chromium = chromium;
    this.#judgement = judgement;
    this.#cgroups = cgroups;
    if (!this.fitness) this.#judgeLater();
  }

  /** Judges the host. `run` names the cgroups; `chromium` is the browser's path, null: found in PATH. */
  static async open(chromium: string | null, run: string): Promise<HostFitness> {
    const isRoot = process.getuid?.() === 0;
    const cgroups = isRoot ? await Cgroups.make(run) : null;
    return new HostFitness(chromium, await judge(chromium), cgroups);
  }

  /** Null while the host cannot serve browsers; `hint` says why. */
  get fitness(): Fitness | null {
    return "hint" in this.#judgement ? null : this.#judgement;
  }

  get hint(): string | null {
    return "hint" in this.#judgement ? this.#judgement.hint : null;
  }

  /** Resolves when a host that was unfit at its start has become fit. */
  get becameFit(): Promise<void> {
    return this.#becameFit.promise;
  }

  /** The browser's version; empty while the host is unfit. */
  get version(): string {
    return this.fitness?.version ?? "";
  }

  get isolation(): PoolHeartbeat["isolation"] {
    return this.fitness?.isolation ?? "none";
  }

  /** Where slots and Playwright processes are capped; null when nothing is. */
  get cgroups(): Cgroups | null {
    return this.isolation === "uid" ? this.#cgroups : null;
  }

  /** Whether pages take themselves for online. */
  get isOnline(): boolean {
    return this.fitness?.isOnline ?? true;
  }

  get memoryCap(): boolean {
    return this.cgroups !== null;
  }

  close(): void {
    if (this.#timer) clearTimeout(this.#timer);
  }

  #judgeLater(): void {
    this.#timer = setTimeout(() => {
      void judge(this.#chromium).then((judgement) => {
        this.#judgement = judgement;
        if (this.fitness) this.#becameFit.resolve();
        else this.#judgeLater();
      });
    }, AGAIN_MS).unref();
  }
}
