import type { PoolHeartbeat } from "@svc/contract/host-protocol/heartbeat.ts";
import { type Caps, Cgroups } from "@svc/host-kit/cgroups.ts";
import type { PoolConfig } from "./config.ts";
import { type Fitness, type Unfit, judge } from "./launch/fitness.ts";

/** Of a browser, and of a Playwright. A renderer has some fifteen threads. */
export const SLOT_CAPS: Caps = { memoryBytes: 2 * 1024 ** 3, tasks: 4_096 };
const AGAIN_MS = 30_000;

/** What the machine under this pool can do. Judged again while it is unfit, so that the fix takes effect. */
export class Machine {
  readonly #cgroups: Cgroups | null;
  readonly #chromium: string | null;
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
  }

  static async judged({ chromium }: PoolConfig, run: string): Promise<Machine> {
    const isRoot = process.getuid?.() === 0;
    const cgroups = isRoot ? await Cgroups.make(run) : null;
    return new Machine(chromium, await judge(chromium), cgroups);
  }

  get fitness(): Fitness | null {
    return "hint" in this.#judgement ? null : this.#judgement;
  }

  get hint(): string | null {
    return "hint" in this.#judgement ? this.#judgement.hint : null;
  }

  get version(): string {
    return this.fitness?.version ?? "";
  }

  get isolation(): PoolHeartbeat["isolation"] {
    return this.fitness?.isolation ?? "none";
  }

  /** Where slots and Playwrights are capped; null when nothing is. */
  get cgroups(): Cgroups | null {
    return this.isolation === "uid" ? this.#cgroups : null;
  }

  get memoryCap(): boolean {
    return this.cgroups !== null;
  }

  /** Calls `onFit` once the machine has become fit. */
  watch(onFit: () => void): void {
    if (this.fitness) return;
    this.#timer = setTimeout(() => {
      void judge(this.#chromium).then((judgement) => {
        this.#judgement = judgement;
        if (this.fitness) onFit();
        else this.watch(onFit);
      });
    }, AGAIN_MS).unref();
  }

  close(): void {
    if (this.#timer) clearTimeout(this.#timer);
  }
}
