import type { BrowserKind } from "@svc/contract/browser/session.ts";
import type { PoolHeartbeat } from "@svc/contract/host-protocol/heartbeat.ts";
import { Cgroups } from "@svc/host-kit/cgroups.ts";
import { type Fitness, type Unfit, judge } from "./fitness.ts";
import { type StealthFitness, judgeStealth } from "./stealth-fitness.ts";

const AGAIN_MS = 30_000;

/** Where the browsers of each kind are; null: where systems have them. */
type Paths = Record<BrowserKind, string | null>;

interface Judgement {
  fast: Fitness | Unfit;
  stealth: StealthFitness | Unfit;
}

/** Whether this host can serve browsers, and how well. Judged again while a kind is not served, so that a fix takes effect. */
export class HostFitness {
  readonly #cgroups: Cgroups | null;
  readonly #paths: Paths;
  #judgement: Judgement;
  #onChange: (() => void) | null = null;
  #timer: NodeJS.Timeout | null = null;

  private constructor(paths: Paths, judgement: Judgement, cgroups: Cgroups | null) {
    this.#paths = paths;
    this.#judgement = judgement;
    this.#cgroups = cgroups;
    if (!this.#isWhole) this.#judgeLater();
  }

  /** Judges the host. `run` names the cgroups. */
  static async open(paths: Paths, run: string): Promise<HostFitness> {
    const isRoot = process.getuid?.() === 0;
    const cgroups = isRoot ? await Cgroups.make(run) : null;
    return new HostFitness(paths, await judged(paths), cgroups);
  }

  /** How well the host serves kind `fast`; null while it does not. `hintOf` says why. */
  get fast(): Fitness | null {
    const { fast } = this.#judgement;
    return "hint" in fast ? null : fast;
  }

  /** The same for kind `stealth`. */
  get stealth(): StealthFitness | null {
    const { stealth } = this.#judgement;
    return "hint" in stealth ? null : stealth;
  }

  /** Isolation and programs, which both kinds share; null while the host serves neither kind. */
  get fitness(): Fitness | null {
    return this.fast ?? this.stealth;
  }

  /** Why this host cannot serve a kind: the exact fix in one line. Null when the host can. */
  hintOf(kind: BrowserKind): string | null {
    const judgement = this.#judgement[kind];
    return "hint" in judgement ? judgement.hint : null;
  }

  /** Calls `heard` when the host has become fit for a kind that it could not serve. */
  onChange(heard: () => void): void {
    this.#onChange = heard;
  }

  /** The version of the browsers of kind `fast`, or else of the others; empty while the host is unfit. */
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
    this.#timer = setTimeout(() => void this.#judgeAgain(), AGAIN_MS).unref();
  }

  get #isWhole(): boolean {
    return this.fast !== null && this.stealth !== null;
  }

  async #judgeAgain(): Promise<void> {
    const before = [this.fast, this.stealth];
    // A kind that is served is not judged again: its programs are in use.
    const [fast, stealth] = await Promise.all([
      this.fast ?? judge(this.#paths.fast),
      this.stealth ?? judgeStealth(this.#paths.stealth),
    ]);
    this.#judgement = { fast, stealth };
    if (this.fast !== before[0] || this.stealth !== before[1]) this.#onChange?.();
    if (!this.#isWhole) this.#judgeLater();
  }
}

async function judged(paths: Paths): Promise<Judgement> {
  const [fast, stealth] = await Promise.all([judge(paths.fast), judgeStealth(paths.stealth)]);
  return { fast, stealth };
}
