import { once } from "node:events";
import { chown, mkdir, rm } from "node:fs/promises";
import { type Socket, connect } from "node:net";
import type { WireVersion } from "@svc/contract/browser/wire-versions.ts";
import type { Log } from "@svc/host-kit/log.ts";
import { type Cgroups, removeGroups } from "@svc/host-kit/cgroups.ts";
import { PLAYWRIGHT_CAPS } from "../launch/caps.ts";
import type { Fitness } from "../launch/fitness.ts";
import { playwrightCommand } from "./command.ts";
import { SandboxedProcess } from "../launch/process.ts";
import type { Handover } from "./messages.ts";
import { controlOf, egressOf, filesOf, homeOf } from "./folders.ts";
import { watchPulse } from "./pulse.ts";
import { ServedVersions } from "./served-versions.ts";

const WORDS = 3;

export interface PlaywrightProcessesOptions {
  /** The run's folder that pool and Playwrights share. */
  root: string;
  log: Log;
  /** The abilities of the host at this moment. */
  hostFitness: { readonly fitness: Fitness | null; readonly cgroups: Cgroups | null };
}

/**
 * The Playwright processes of a pool, one for each minor that a client has asked for: unprivileged, without a
 * network, without secrets. A process that ends takes its clients' sockets with it, and is started again when wanted.
 */
export class PlaywrightProcesses {
  readonly served = new ServedVersions();
  readonly #options: PlaywrightProcessesOptions;
  readonly #running = new Map<WireVersion, Promise<SandboxedProcess>>();
  #starts = 0;
  #isClosed = false;

  private constructor(options: PlaywrightProcessesOptions) {
    this.#options = options;
  }

  get log(): Log {
    return this.#options.log;
  }

  /** Makes the shared folders. No process is started before a client asks for its version. */
  static async open(options: PlaywrightProcessesOptions): Promise<PlaywrightProcesses> {
    const { root } = options;
    // Users pass through to what they can name, and list nothing.
    for (const folder of [root, filesOf(root, ""), egressOf(root, "")])
      await mkdir(folder, { mode: 0o711 });
    return new PlaywrightProcesses(options);
  }

  /** Opens a new connection to the Playwright of a minor, which is started when it does not run. */
  async connect(version: WireVersion): Promise<Socket> {
    const process = await this.#started(version);
    const socket = connect(controlOf(this.#options.root, version));
    const isOpen = await once(socket, "connect").then(
      () => true,
      () => false,
    );
    if (isOpen) return socket;
    // The process is dying: the next one takes over.
    await process.kill();
    return this.connect(version);
  }

  /** Hands a socket over to the Playwright of a minor. */
  async give(version: WireVersion, message: Handover, socket: Socket): Promise<void> {
    (await this.#started(version)).give(message, socket);
  }

  /** Ends all processes. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const running = await Promise.allSettled(this.#running.values());
    for (const one of running) if (one.status === "fulfilled") await one.value.kill();
  }

  #started(version: WireVersion): Promise<SandboxedProcess> {
    const known = this.#running.get(version);
    if (known) return known;
    if (this.#isClosed) return Promise.reject(new Error("the pool stops"));
    const started = this.#start(version);
    this.#running.set(version, started);
    const forget = (): void => void this.#running.delete(version);
    started.then(({ exited }) => exited.then(forget), forget);
    started.then((process) => this.#watch(version, process)).catch(() => {});
    return started;
  }

  async #watch(version: WireVersion, process: SandboxedProcess): Promise<void> {
    watchPulse(await this.connect(version), () => {
      this.#options.log.error({ version }, "playwright_silent");
      void process.kill();
    });
  }

  async #start(version: WireVersion): Promise<SandboxedProcess> {
    const { root } = this.#options;
    const { fitness, cgroups } = this.#options.hostFitness;
    if (!fitness) throw new Error("this host serves no browsers");
    const home = homeOf(root, version);
    // A killed process may have left files there.
    await rm(home, { recursive: true, force: true });
    await mkdir(home, { mode: 0o700 });
    const uid = fitness.playwrightUid;
    if (uid !== null) await chown(home, uid, uid);
    this.#starts += 1;
    const groups = cgroups ? await cgroups.add(`playwright-${this.#starts}`, PLAYWRIGHT_CAPS) : [];
    const command = await playwrightCommand({ fitness, root, version, cgroups: groups });
    const process = new SandboxedProcess(command, true);
    void process.exited.then(() => this.#ended(version, process, groups));
    const ended = process.exited.then(() => Promise.reject(new Error(process.lastWords)));
    // Its first bytes say that it listens.
    await Promise.race([once(process.fromInside, "data"), ended]);
    ended.catch(() => {});
    return process;
  }

  async #ended(version: WireVersion, process: SandboxedProcess, groups: string[]): Promise<void> {
    // Only the places in the code: the text of an error may quote a client.
    const words = process.lastWords.split("\n").filter((line) => /^ +at |^FATAL/.test(line));
    const where = words.slice(0, WORDS).map((line) => line.trim());
    if (!this.#isClosed) this.#options.log.error({ version, where }, "playwright_ended");
    await removeGroups(groups);
  }
}
