import { once } from "node:events";
import { chown, mkdir, rm } from "node:fs/promises";
import { type Socket, connect } from "node:net";
import type { WireVersion } from "@svc/contract/browser/wire-versions.ts";
import { type Cgroups, removeGroups } from "@svc/host-kit/cgroups.ts";
import { LATE, inTime } from "@svc/host-kit/deadline.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import { PLAYWRIGHT_CAPS } from "../launch/caps.ts";
import type { Fitness } from "../launch/fitness.ts";
import { SandboxedProcess } from "../launch/process.ts";
import { type BuildName, versionOf } from "./builds.ts";
import { playwrightCommand } from "./command.ts";
import { type Ending, PlaywrightGone, endingOf, placesOf } from "./ending.ts";
import { controlOf, homeOf, newName } from "./folders.ts";
import type { Handover } from "./messages.ts";
import { SILENT_MS, watchPulse } from "./pulse.ts";
import { type Tenant, type Tie, Ties } from "./ties.ts";

/** Ends a start that hangs. A sound start takes half a second of a processor. */
const START_MS = 30_000;

const NO_START = { reason: "Playwright does not start.", isFault: true };

export interface PlaywrightProcessOptions {
  /** The run's folder that pool and Playwrights share. */
  root: string;
  log: Log;
  fitness: Fitness;
  cgroups: Cgroups | null;
  /** Called when the first tie of the process to a slot has begun, and when the last one has ended. */
  onUse: (isUsed: boolean) => void;
}

/**
 * A Playwright in a process of its own: unprivileged, capped, without a network, without secrets. It serves one org at
 * most. A process that ends takes its clients' sockets with it.
 */
export class PlaywrightProcess {
  readonly version: WireVersion;
  readonly build: BuildName;
  /** Resolves with the reason when the process has ended, or could not be started. */
  readonly ended: Promise<Ending>;
  readonly #options: PlaywrightProcessOptions;
  readonly #name = newName();
  readonly #home: string;
  readonly #ties: Ties;
  readonly #program: Promise<SandboxedProcess>;
  readonly #removed: Promise<void>;
  #ending: Ending | null = null;
  #groups: string[] = [];

  /** `turn`: does a start when its turn has come. */
  constructor(
    options: PlaywrightProcessOptions,
    build: BuildName,
    turn: <Result>(work: () => Promise<Result>) => Promise<Result>,
  ) {
    this.build = build;
    this.version = versionOf(build);
    this.#options = options;
    this.#home = homeOf(options.root, this.#name);
    this.#ties = new Ties(options.onUse);
    this.#program = turn(() => this.#start());
    this.ended = this.#over();
    this.#removed = this.#remove();
  }

  /** The org that the process serves; null before it has one. */
  get org(): string | null {
    return this.#ties.org;
  }

  /** Whether the process has ended, or is about to end. */
  get isOver(): boolean {
    return this.#ending !== null;
  }

  /** How many slots it is tied to. */
  get slots(): number {
    return this.#ties.size;
  }

  /** Resolves when the process takes connections; rejects when it cannot be started. */
  async ready(): Promise<void> {
    await this.#program;
  }

  /** Gives the process to an org for good. Slots that are not that org's are tied to it no more when this returns. */
  serve(org: string): void {
    this.#ties.serve(org);
  }

  /** Ties a slot to the process, which ends the tie when it serves another org than the slot's. */
  tie(tenant: Tenant): Tie {
    return this.#ties.add(tenant);
  }

  /** Opens a new connection for one browser. */
  async connect(): Promise<Socket> {
    await this.#program;
    const socket = connect(controlOf(this.#home));
    await once(socket, "connect").catch(async () => {
      await this.end({ reason: "Playwright took no connection and was ended.", isFault: true });
      throw new PlaywrightGone();
    });
    return socket;
  }

  /** Hands a socket over. This process keeps a hold on it, to tell the client when the Playwright has died. */
  async give(message: Handover, socket: Socket): Promise<void> {
    (await this.#program).give(message, socket);
  }

  /** Ends the process. */
  async end(ending: Ending): Promise<void> {
    this.#ending ??= ending;
    const program = await this.#program.catch(() => null);
    await program?.kill();
    await this.#removed;
  }

  async #start(): Promise<SandboxedProcess> {
    if (this.#ending) throw new Error(this.#ending.reason);
    const { root, fitness, cgroups } = this.#options;
    const home = this.#home;
    await mkdir(home, { mode: 0o700 });
    const uid = fitness.playwrightUid;
    if (uid !== null) await chown(home, uid, uid);
    if (cgroups) this.#groups = await cgroups.add(`playwright-${this.#name}`, PLAYWRIGHT_CAPS);
    const { build } = this;
    const command = await playwrightCommand({
      fitness,
      root,
      home,
      build,
      cgroups: this.#groups,
    });
    const program = new SandboxedProcess(command, true);
    const over = program.exited.then(() => Promise.reject(new Error(program.lastWords)));
    // Its first bytes say that it listens.
    const isLate = (await inTime(Promise.race([listening(program), over]), START_MS)) === LATE;
    if (!isLate) return program;
    await program.kill();
    throw new Error("Playwright did not start in time");
  }

  async #over(): Promise<Ending> {
    const program = await this.#program.catch((error: unknown) => messageOf(error));
    const ending = typeof program === "string" ? NO_START : await this.#lived(program);
    this.#ending ??= ending;
    const version = this.build;
    const slots = this.#ties.concerned;
    const where = typeof program === "string" ? [program.slice(0, 500)] : placesOf(program);
    const { reason, isFault } = this.#ending;
    if (isFault) this.#options.log.error({ version, slots, reason, where }, "playwright_ended");
    this.#ties.clear();
    return this.#ending;
  }

  async #lived(program: SandboxedProcess): Promise<Ending> {
    void this.#watch(program);
    await program.exited;
    return endingOf(program, this.#groups);
  }

  async #remove(): Promise<void> {
    await this.ended;
    await removeGroups(this.#groups);
    await rm(this.#home, { recursive: true, force: true });
  }

  async #watch(program: SandboxedProcess): Promise<void> {
    const socket = await this.connect().catch(() => null);
    if (!socket) return;
    watchPulse(socket, () => {
      const reason = `Playwright was silent for ${SILENT_MS / 1000} s and was ended.`;
      this.#ending ??= { reason, isFault: true };
      void program.kill();
    });
  }
}

async function listening(program: SandboxedProcess): Promise<void> {
  await once(program.fromInside, "data");
  // Nothing more is expected; what comes nevertheless is dropped.
  program.fromInside.resume();
}
