import { mkdir } from "node:fs/promises";
import { availableParallelism } from "node:os";
import type { BrowserKind } from "@svc/contract/browser/session.ts";
import type { WireVersion } from "@svc/contract/browser/wire-versions.ts";
import type { Cgroups } from "@svc/host-kit/cgroups.ts";
import type { Log } from "@svc/host-kit/log.ts";
import type { Fitness } from "../launch/fitness.ts";
import { type BuildName, Builds } from "./builds.ts";
import { egressOf, filesOf } from "./folders.ts";
import { PlaywrightProcess } from "./process.ts";
import { ServedVersions } from "./served-versions.ts";
import { StartQueue } from "./start-queue.ts";
import { WarmPlaywright } from "./warm-playwright.ts";

/** How long a process stays for the next session of its org. */
const LINGER_MS = 10_000;
/** The same when others stay already: so long the last clients are told why their sockets end. */
const LEAST_LINGER_MS = 3_000;
const LINGERING = 2;

export interface PlaywrightProcessesOptions {
  /** The run's folder that pool and Playwrights share. */
  root: string;
  log: Log;
  /** The abilities of the host at this moment. */
  hostFitness: { readonly fitness: Fitness | null; readonly cgroups: Cgroups | null };
}

/**
 * The Playwright processes of a pool: one for each org and build that its clients have asked for, and one kept warm.
 * An org's process ends when the org's last session has ended, and is never given to another org.
 */
export class PlaywrightProcesses {
  readonly served = new ServedVersions();
  readonly builds = new Builds();
  /** Kept for the next org. */
  readonly warm: WarmPlaywright;
  /** Whether a Playwright of this pool has been attached to a browser. */
  isProven = false;
  readonly #options: PlaywrightProcessesOptions;
  readonly #starts = new StartQueue(availableParallelism());
  readonly #running = new Set<PlaywrightProcess>();
  readonly #ofOrgs = new Map<string, PlaywrightProcess>();
  readonly #lingering = new Map<PlaywrightProcess, NodeJS.Timeout>();
  #isClosed = false;

  private constructor(options: PlaywrightProcessesOptions) {
    this.#options = options;
    const start = (version: WireVersion): PlaywrightProcess => this.#start(version);
    this.warm = new WarmPlaywright({ served: this.served, log: options.log, start });
  }

  get log(): Log {
    return this.#options.log;
  }

  /** Makes the shared folders. No process is started before the first browser. */
  static async open(options: PlaywrightProcessesOptions): Promise<PlaywrightProcesses> {
    const { root } = options;
    // Users pass through to what they can name, and list nothing.
    for (const folder of [root, filesOf(root, ""), egressOf(root, "")])
      await mkdir(folder, { mode: 0o711 });
    return new PlaywrightProcesses(options);
  }

  /** The process of an org for browsers of a kind: the one that runs, else the warm one, else a new one. */
  of(org: string, version: WireVersion, kind: BrowserKind): PlaywrightProcess {
    const build = this.builds.of(version, kind);
    const known = this.#ofOrgs.get(keyOf(org, build));
    if (known && !known.isOver) return known;
    const process = (build === version && this.warm.take(version)) || this.#start(build);
    process.serve(org);
    // Until its first slot is tied to it, which may never be.
    if (process.slots === 0) this.#unused(process);
    this.#ofOrgs.set(keyOf(org, build), process);
    return process;
  }

  /** Whether an org has a process of a minor. */
  isRunning(org: string, version: WireVersion): boolean {
    return this.#ofOrgs.get(keyOf(org, version))?.isOver === false;
  }

  /** Ends all processes. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.warm.close();
    for (const timer of this.#lingering.values()) clearTimeout(timer);
    const ending = { reason: "The browser pool stops.", isFault: false };
    await Promise.all([...this.#running].map((process) => process.end(ending)));
  }

  #start(build: BuildName): PlaywrightProcess {
    if (this.#isClosed) throw new Error("the pool stops");
    const { root, log } = this.#options;
    const { fitness, cgroups } = this.#options.hostFitness;
    if (!fitness) throw new Error("this host serves no browsers");
    const onUse = (isUsed: boolean): void => (isUsed ? this.#keep(process) : this.#unused(process));
    const own = { root, log, fitness, cgroups, onUse };
    const process = new PlaywrightProcess(own, build, (work) => this.#starts.run(work));
    this.#running.add(process);
    void process.ended.then(() => this.#forget(process));
    return process;
  }

  #unused(process: PlaywrightProcess): void {
    if (process.org === null || process.isOver) return;
    this.#keep(process);
    const ms = this.#lingering.size < LINGERING ? LINGER_MS : LEAST_LINGER_MS;
    const end = (): void =>
      void process.end({ reason: "The last session of its org has ended.", isFault: false });
    this.#lingering.set(process, setTimeout(end, ms));
  }

  #keep(process: PlaywrightProcess): void {
    clearTimeout(this.#lingering.get(process));
    this.#lingering.delete(process);
  }

  #forget(process: PlaywrightProcess): void {
    this.#running.delete(process);
    this.#keep(process);
    if (process.org === null) return;
    const key = keyOf(process.org, process.build);
    if (this.#ofOrgs.get(key) === process) this.#ofOrgs.delete(key);
  }
}

const keyOf = (org: string, build: BuildName): string => `${build} ${org}`;
