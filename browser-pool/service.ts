import type { Server } from "node:http";
import type { BrowserKind } from "@svc/contract/browser/session.ts";
import type { HeartbeatReply, PoolHeartbeat } from "@svc/contract/host-protocol/heartbeat.ts";
import { Heartbeats } from "@svc/host-kit/heartbeats.ts";
import type { Log } from "@svc/host-kit/log.ts";
import type { PoolConfig } from "./config.ts";
import { Allowance } from "./egress/allowance.ts";
import { type Run, openRun } from "./janitor.ts";
import { Machine } from "./machine.ts";
import { Pool } from "./pool.ts";
import { fetchState } from "./profile.ts";
import { snapshotOf } from "./registration.ts";
import { createFront } from "./server/front.ts";
import { Shelf } from "./shelf.ts";
import { type Slot, launchSlot } from "./slot.ts";
import { rootOf } from "./wire/layout.ts";
import { Playwrights } from "./wire/playwrights.ts";

const GATEWAY_CHECK_MS = 1_000;
/** Told at once, what a create changes here would take the machine from the client that it was for. */
const QUIET_MS = 300;

const STEALTH_HINT = "This version serves no stealth browsers: create the session without stealth.";

/** A line of the banner of `npm start`. */
export interface TableLine {
  what: string;
  on: boolean;
  note: string;
}

/** What a pool stands on. */
interface Grounds {
  run: Run;
  machine: Machine;
  allowance: Allowance;
  playwrights: Playwrights;
}

/** A whole pool: its sessions, its HTTP front and its place in the fleet. */
export class PoolService {
  readonly pool: Pool;
  readonly shelf: Shelf;
  url = "";
  readonly #config: PoolConfig;
  readonly #log: Log;
  readonly #run: Run;
  readonly #machine: Machine;
  readonly #allowance: Allowance;
  readonly #front: Server;
  readonly #playwrights: Playwrights;
  readonly #heartbeats: Heartbeats<PoolHeartbeat>;
  /** On the clock that nobody sets. */
  #heardAt = performance.now();
  #launches = 0;
  #gatewayCheck: NodeJS.Timeout | undefined;

  private constructor(config: PoolConfig, log: Log, grounds: Grounds) {
    this.#config = config;
    this.#allowance = grounds.allowance;
    this.#log = log;
    this.#run = grounds.run;
    this.#machine = grounds.machine;
    this.#playwrights = grounds.playwrights;
    const onChange = (): void => this.#heartbeats.touch();
    this.shelf = new Shelf({
      warm: config.warm,
      maxSlots: config.maxSlots,
      log,
      launch: (place, signal) => this.#launch(place, signal),
      onChange,
    });
    const hintOf = (kind: BrowserKind): string | null => this.#hintOf(kind);
    const { hostToken, gatewayUrl, hostId, profileMs } = config;
    this.pool = new Pool({
      shelf: this.shelf,
      log,
      onChange,
      onLoss: () => this.#heartbeats.hurry(),
      hintOf,
      fetchState: (path, caller) => fetchState(gatewayUrl, path, caller, profileMs.fetch),
      loadMs: profileMs.load,
    });
    const onCall = (): void => void (this.#heardAt = performance.now());
    const { served } = this.#playwrights;
    this.#front = createFront({ pool: this.pool, served, hostToken, log, onCall });
    this.#heartbeats = new Heartbeats({
      gatewayUrl,
      hostId,
      hostToken,
      log,
      quietMs: QUIET_MS,
      call: fetch,
      nextBeat: () => this.#snapshot(),
      onAnswer: (reply, beat) => this.#answered(reply, beat),
    });
  }

  /** Opens the front and starts to warm and to beat. Returns before the first browser is warm. */
  static async start(config: PoolConfig, log: Log): Promise<PoolService> {
    const run = await openRun(config.stateDir);
    const machine = await Machine.judged(config, run.name);
    const allowance = await Allowance.of(config.egressAllow);
    const root = rootOf(run.folder);
    const playwrights = await Playwrights.prepare({ root, machine, log });
    const service = new PoolService(config, log, { run, machine, allowance, playwrights });
    await service.#listen();
    machine.watch(() => {
      service.shelf.fill();
      service.#heartbeats.touch();
    });
    if (machine.fitness) service.shelf.fill();
    service.#heartbeats.start();
    service.#gatewayCheck = setInterval(() => service.#checkGateway(), GATEWAY_CHECK_MS);
    return service;
  }

  /** What the banner says of this pool. */
  get table(): TableLine[] {
    const { hint, isolation, memoryCap } = this.#machine;
    const cap = memoryCap ? "memory capped" : "no memory cap";
    const note = `${this.#config.warm} warm, at most ${this.#config.maxSlots}, isolation ${isolation}, ${cap}`;
    return [
      { what: "browsers (fast)", on: hint === null, note: hint ?? note },
      { what: "browsers (stealth)", on: false, note: STEALTH_HINT },
    ];
  }

  /** Ends every browser, tells the gateway, and leaves nothing on the machine. */
  async stop(): Promise<void> {
    clearInterval(this.#gatewayCheck);
    this.#machine.close();
    this.#allowance.close();
    await this.pool.close();
    await this.#playwrights.close();
    await this.#heartbeats.stop();
    this.#front.close();
    this.#front.closeAllConnections();
    await this.#run.close();
  }

  async #listen(): Promise<void> {
    const { host, port } = this.#config.listen;
    await new Promise<void>((resolve, reject) => {
      this.#front.once("error", reject);
      this.#front.listen(port, host, resolve);
    });
    const address = this.#front.address();
    if (address === null || typeof address === "string") throw new Error("no address");
    const name = host.includes(":") ? `[${host}]` : host;
    this.url = this.#config.publicUrl ?? `http://${name}:${address.port}`;
  }

  #launch(place: number, signal: AbortSignal): Promise<Slot> {
    const { fitness, cgroups } = this.#machine;
    if (!fitness) return Promise.reject(new Error("this machine serves no browsers"));
    this.#launches += 1;
    const { folder } = this.#run;
    const common = { folder, allowance: this.#allowance, playwrights: this.#playwrights };
    return launchSlot({ fitness, cgroups, ...common }, this.#launches, place, signal);
  }

  #hintOf(kind: BrowserKind): string | null {
    return kind === "fast" ? (this.#machine.hint ?? this.shelf.hint) : STEALTH_HINT;
  }

  #snapshot(): PoolHeartbeat {
    const { pool, shelf, url } = this;
    const own = { machine: this.#machine, config: this.#config, served: this.#playwrights.served };
    return snapshotOf({ pool, shelf, url, ...own, stealthHint: STEALTH_HINT });
  }

  #answered(reply: HeartbeatReply, beat: PoolHeartbeat): void {
    this.pool.forget(beat.slots);
    for (const id of reply.end) this.pool.end(id);
  }

  #checkGateway(): void {
    const heardAt = Math.max(this.#heardAt, this.#heartbeats.answeredAt);
    if (this.pool.busy === 0 || performance.now() - heardAt < this.#config.orphanGraceMs) return;
    this.#log.warn("the gateway has been silent for too long");
    this.pool.orphanAll();
  }
}
