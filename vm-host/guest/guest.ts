import { CHANNELS } from "@svc/contract/control-channel/binary-frame.ts";
import { PortConnected } from "@svc/contract/control-channel/host-methods.ts";
import type { Identity, IdentityDone } from "@svc/contract/control-channel/identity.ts";
import type { Exit } from "@svc/contract/control-channel/methods.ts";
import { EXEC_OUTPUT_BYTES } from "@svc/contract/control-channel/protocol.ts";
import { isRefused, refuse } from "@svc/contract/control-channel/refusals.ts";
import { FIRST_SYNC_WORD } from "@svc/contract/control-channel/sync-word.ts";
import type { Receiver, Wire } from "@svc/contract/control-channel/wire.ts";
import type { Exec, ExecResult } from "@svc/contract/vm/exec.ts";
import { LATE, inTime } from "@svc/host-kit/deadline.ts";
import type { MountedVolume } from "../disk/mounted-volume.ts";
import type { Machine } from "../driver.ts";
import type { LifeStart } from "../life.ts";
import { type Self, identityOf } from "./identity.ts";
import { Breaches } from "./breaches.ts";
import { KeptBytes, KeptOutput } from "./kept-output.ts";
import { GuestPort, type HostClient } from "./port.ts";
import { Presence, SILENCE_MS, silent } from "./presence.ts";
import { GuestSocket } from "./socket.ts";
import { TimeShare } from "./time-share.ts";

const METRICS_MS = 5_000;
/** A kernel reads and compiles its libraries, under emulation too. */
const WARM_MS = 240_000;
const VOLUME_MS = 10_000;
/** How long the agent may take to connect to a port, or to say that nothing listens. */
const DIAL_MS = 30_000;
/** The guest's clock is set as late as its identity arrives: later than this, it is told again. */
const CLOCK_SLACK_MS = 100;
/** A clock that is later than this is corrected before anything else. */
const CLOCK_LIMIT_MS = 300;
const CLOCK_TRIES = 4;

/** A command that has ended. `free` is called when its output is not needed any more. */
export interface Executed extends Exit {
  truncated: boolean;
  stdout: KeptOutput;
  stderr: KeptOutput;
  free(): void;
}

const FIRST_LIFE: LifeStart = { word: FIRST_SYNC_WORD, generation: 0 };

/** What the agent of a machine does for its host. */
export class Guest {
  /** Resolves when it has been told for the first time who its machine is. */
  readonly identified: Promise<void>;
  /** Breaches of the contract by the agent. */
  readonly breaches = new Breaches();
  readonly #share = new TimeShare();
  readonly #kept = new KeptBytes();
  /** Small things, answered first. */
  readonly #control: GuestPort;
  readonly #machine: Pick<Machine, "openStream">;
  /** Customers, files, connections. Begins with its first use, by a word that is known with the machine's identity. */
  #bulk: GuestPort | null = null;
  #self: Self | null = null;
  #generation: number;
  #word: Uint8Array;
  readonly #identified = Promise.withResolvers<void>();
  readonly #presence = new Presence(() => this.#control.client.call("rpc.ping", {}).result);

  /** Begins a life. What is asked before the agent is up waits in the port. */
  constructor(machine: Pick<Machine, "openStream">, { word, generation }: LifeStart = FIRST_LIFE) {
    this.#machine = machine;
    this.identified = this.#identified.promise;
    this.#generation = generation;
    this.#word = word;
    this.#control = this.#port("control");
  }

  /** Waits until the agent of a machine that boots answers. */
  async up(limitMs: number): Promise<void> {
    await this.#insist(() => this.#control.client.call("rpc.ping", {}).result, limitMs);
  }

  /** Tells the machine who it is. Before this it answers nothing else, and nothing of a customer goes in. */
  async identify(self: Self, limitMs: number, isRestored = false): Promise<IdentityDone> {
    this.#generation += 1;
    this.#self = self;
    const made = identityOf(self, this.#generation);
    const identity: Identity = { ...made, ...(isRestored && { dropConnections: true }) };
    const done = await this.#insist(() => this.#introduce(identity), limitMs);
    this.#word = Buffer.from(identity.nextSyncWord, "hex");
    this.#control.useWord(this.#word);
    this.#bulk?.useWord(this.#word);
    this.#identified.resolve();
    return done;
  }

  /** Begins one more life of a machine that runs on: it does what it will do when it is cloned. */
  begin(): void {
    this.#control.begin();
  }

  /** Asks once more when the agent was started anew meanwhile: it has not heard the question. */
  async #insist<T>(ask: () => Promise<T>, limitMs: number): Promise<T> {
    const until = performance.now() + limitMs;
    for (;;) {
      const { client } = this.#control;
      try {
        const answer = await inTime(ask(), until - performance.now());
        if (answer === LATE) throw silent();
        return answer;
      } catch (error) {
        // The same client: the machine is gone, and no other one comes.
        if (!isRefused(error, "Disconnected") || this.#control.client === client) throw error;
      }
    }
  }

  async #introduce(identity: Identity): Promise<IdentityDone> {
    // After a boot the first answer takes seconds: the time must not be sent before. A saved machine answers at once.
    // The time that both may take is the caller's.
    const { client } = this.#control;
    if (identity.generation === 1) await client.call("rpc.ping", {}).result;
    const nowMs = Date.now();
    const done = await this.#control.client.call("identity.set", { ...identity, nowMs }).result;
    const lateMs = Date.now() - nowMs - done.tookMs;
    const setting = this.#correctClock(lateMs);
    if (lateMs >= CLOCK_LIMIT_MS) await setting;
    else setting.catch(() => null);
    return done;
  }

  /** What is asked meanwhile comes behind the first correction. */
  async #correctClock(lateMs: number): Promise<void> {
    for (let late = lateMs, tries = 1; late >= CLOCK_SLACK_MS && tries < CLOCK_TRIES; tries += 1) {
      const toldAt = Date.now();
      await this.setClock();
      late = Date.now() - toldAt;
    }
  }

  /** Who it was told to be. */
  get self(): Self {
    if (!this.#self) throw new Error("the machine has no identity yet");
    return this.#self;
  }

  /** Sets the clock of a machine that stood still. What is asked after this runs after it. */
  async setClock(): Promise<void> {
    await this.#control.client.ask("clock.set", { nowMs: Date.now() });
  }

  /** What begins the life after this one. */
  get nextLife(): LifeStart {
    return { word: this.#word, generation: this.#generation };
  }

  /** One command to its end, no shell, 8 MiB of output a stream. */
  async exec(command: Exec, signal?: AbortSignal): Promise<ExecResult> {
    const done = await this.execute(command, signal);
    try {
      const { exitCode, timedOut, oom, truncated, stdout, stderr } = done;
      return {
        exitCode,
        stdout: stdout.text(),
        stderr: stderr.text(),
        ...(timedOut && { timedOut }),
        ...(oom && { oom }),
        ...(truncated && { truncated }),
      };
    } finally {
      done.free();
    }
  }

  /** The same, with its output as it is kept here. */
  async execute({ cmd, args, cwd, timeoutMs }: Exec, signal?: AbortSignal): Promise<Executed> {
    const stdout = new KeptOutput(this.#kept);
    const stderr = new KeptOutput(this.#kept);
    const free = (): void => [stdout, stderr].forEach((output) => output.free());
    const params = {
      cmd,
      ...(args && { args }),
      ...(cwd !== undefined && { cwd }),
      ...(timeoutMs !== undefined && { timeoutMs }),
      maxBytes: EXEC_OUTPUT_BYTES,
    };
    const left = new AbortController();
    const { result } = this.#control.client.call("commands.exec", params, {
      onBytes: (channel, bytes) => (channel === CHANNELS.stderr ? stderr : stdout).add(bytes),
      signal: signal ? AbortSignal.any([signal, left.signal]) : left.signal,
      // The agent ends the command at its time. A command without one may run as long as its caller waits.
      ...(timeoutMs !== undefined && { limitMs: timeoutMs + SILENCE_MS }),
    });
    try {
      const { truncated, ...exit } = await this.#presence.answered(result);
      const isCut = stdout.isCut || stderr.isCut;
      return { ...exit, truncated: truncated === true || isCut, stdout, stderr, free };
    } catch (error) {
      // An agent that comes back must not run what nobody waits for.
      left.abort();
      free();
      throw error;
    }
  }

  /** Has it start a kernel with its libraries loaded. */
  async warm(): Promise<void> {
    await answered(this.#control.client.ask("code.warm", {}), WARM_MS);
  }

  /** Mounts a disk that was just plugged in. */
  async mountVolume({ serial, path }: MountedVolume): Promise<void> {
    await answered(this.#control.client.ask("volumes.mount", { serial, path }), VOLUME_MS);
  }

  /** Whether nothing of it is in use after. */
  async unmountVolume({ serial, path }: MountedVolume, isLazy: boolean): Promise<boolean> {
    const params = { serial, path, isLazy };
    const asking = this.#control.client.ask("volumes.unmount", params);
    return (await answered(asking, VOLUME_MS)).isFree;
  }

  /** Has it written out what its memory holds of a volume, while its writers go on. */
  async flushVolume(serial: string): Promise<void> {
    await answered(this.#control.client.ask("volumes.flush", { serial }), VOLUME_MS);
  }

  /** Lets writers wait until it is thawed, for `limitMs` at most. */
  async freezeVolume(serial: string, limitMs: number): Promise<void> {
    const params = { serial, limitMs };
    await answered(this.#control.client.ask("volumes.freeze", params), VOLUME_MS);
  }

  async thawVolume(serial: string): Promise<void> {
    await answered(this.#control.client.ask("volumes.thaw", { serial }), VOLUME_MS);
  }

  metrics() {
    return answered(this.#control.client.ask("metrics.read", {}), METRICS_MS);
  }

  /** The client of the port for everything large. */
  get files(): HostClient {
    return this.#large.client;
  }

  /** The ports have ended, and with them the machine, or the machine's part in them. */
  get isGone(): boolean {
    return this.#control.isGone || this.#bulk?.isGone === true;
  }

  /** A connection of a customer to the agent. */
  open(receive: (wire: Wire) => Receiver): { close(reason: string): void } | null {
    return this.#large.open(receive);
  }

  /** Connects to a TCP port inside. Rejects with `ConnectionRefused` when nothing listens. */
  dial(port: number): Promise<GuestSocket> {
    return new Promise((resolve, reject) => {
      const { client } = this.#large;
      const socket = new GuestSocket((options) => client.call("ports.dial", { port }, options));
      const stop = this.#large.listen((method, params) => {
        if (method !== "ports.connected") return;
        if (PortConnected.safeParse(params).data?.id === socket.callId) done(() => resolve(socket));
      });
      const done = (settle: () => void): void => {
        clearTimeout(late);
        stop();
        settle();
      };
      const fail = (error: unknown): void => done(() => reject(error));
      const late = setTimeout(() => {
        fail(refuse("Disconnected", "The agent does not connect to the port."));
        socket.destroy();
      }, DIAL_MS);
      socket.ended.then(
        () => fail(refuse("Disconnected", "The agent ended a connection that never stood.")),
        fail,
      );
    });
  }

  /** The small client of this life: shares are made and ended by it. */
  get control(): HostClient {
    return this.#control.client;
  }

  get #large(): GuestPort {
    if (!this.#self) throw new Error("the machine has no identity yet");
    return (this.#bulk ??= this.#port("bulk"));
  }

  #port(name: "control" | "bulk"): GuestPort {
    const { note: onBreach } = this.breaches;
    const options = { word: this.#word, share: this.#share, onBreach };
    return new GuestPort(this.#machine.openStream(name), options);
  }
}

/** An answer, unless the agent lets its time pass by far. */
async function answered<Result>(answer: Promise<Result>, limitMs?: number): Promise<Result> {
  if (limitMs === undefined) return answer;
  const first = await inTime(answer, limitMs + SILENCE_MS);
  if (first === LATE) throw silent();
  return first;
}
