import { randomUUID } from "node:crypto";
import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import type { VmPlaced, VmRefused, VmReport } from "@svc/contract/host-protocol/vms.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import { screenOf } from "../guest/identity.ts";
import { PathTaken } from "../volumes/path.ts";
import { VolumeBusy } from "../volumes/transfer.ts";
import type { Volumes } from "../volumes/volumes.ts";
import { StateError } from "./state-error.ts";
import { hostNowMs } from "./use.ts";
import type { Vm } from "./vm.ts";

/** How a placement ended. */
export type Placed = { placed: VmPlaced } | { status: 409 | 503 | 507; refused: VmRefused };

/** What this host has saved of its machines. */
export interface VmRecords {
  /** Of machines that are paused here. */
  reports(): VmReport[];
  /** The last checkpoint of a machine that runs, for its report. */
  checkpointOf(id: string): Partial<VmReport>;
  isPaused(id: string): boolean;
  /**
   * A machine died by itself. True when it is paused from now on, as it was when it was last saved; not while another machine
   * runs in its place.
   */
  onDied(id: string, isReplaced: () => boolean): Promise<boolean>;
  /** Forgets a machine, once what is under way with it is over. */
  remove(id: string): Promise<void>;
}

/** The recordings of this host. */
export interface VmRecordings {
  /** A machine begins to run: it is recorded until it ends, if it is one that is recorded. */
  begin(vm: Vm): void;
}

export interface VmsOptions {
  records: VmRecords;
  recordings: VmRecordings;
  volumes: Volumes;
  log: Log;
  onChange: () => void;
}

/** The machines of this host that belong to sandboxes: which there are, and what is said of them. */
export class Vms {
  readonly bootId = randomUUID();
  isDraining = false;
  readonly #options: VmsOptions;
  readonly #vms = new Map<string, Vm>();
  /** What is on its way, and what gives it up when it is ended meanwhile. */
  readonly #placing = new Map<string, { answer: Promise<Placed>; givenUp: AbortController }>();
  /** Machines that are being ended. */
  readonly #ending = new Map<string, Promise<void>>();
  #seq = 0;

  constructor(options: VmsOptions) {
    this.#options = options;
  }

  nextSeq(): number {
    this.#seq += 1;
    return this.#seq;
  }

  get(id: string): Vm | undefined {
    const vm = this.#vms.get(id);
    return vm?.isOver ? undefined : vm;
  }

  reports(): VmReport[] {
    const starting = [...this.#placing.keys()].map((id): VmReport => {
      return { id, state: "starting", lastActivityAt: hostNowMs() };
    });
    const { records } = this.#options;
    const running = [...this.#vms.values()].map((vm) => {
      return { ...vm.report(), ...records.checkpointOf(vm.id) };
    });
    const paused = records.reports().filter(({ id }) => !this.#vms.has(id));
    return [...starting, ...running, ...paused];
  }

  /** The machines that run or are parked. */
  get all(): Vm[] {
    return [...this.#vms.values()].filter(({ isOver }) => !isOver);
  }

  /**
   * Lets `place` make and add a machine; its signal says that the sandbox was ended meanwhile. A repeat gets what the first
   * got.
   */
  async place(id: string, place: (givenUp: AbortSignal) => Promise<Placed>): Promise<Placed> {
    const known = this.get(id);
    if (known) return { placed: this.#stamp(known) };
    const under = this.#placing.get(id);
    if (under) return under.answer;
    if (this.isDraining) return refuse(503, "NoCapacity", "This host takes no new machines.");
    if (this.#options.records.isPaused(id))
      return refuse(409, "NotRunning", "This machine is paused.");
    const givenUp = new AbortController();
    const answer = place(givenUp.signal);
    this.#placing.set(id, { answer, givenUp });
    return answer.finally(() => this.#placing.delete(id));
  }

  /** Ends a machine, also while it is being made. Does nothing when there is no such machine. */
  async end(id: string): Promise<void> {
    this.#placing.get(id)?.givenUp.abort();
    await this.#end(id);
    await this.#options.records.remove(id);
    // It was on its way back when it was told to end.
    await this.#end(id);
    await this.#options.volumes.release(id);
  }

  /** A repeat waits, too: who is told that it is gone may have its volumes. */
  async #end(id: string): Promise<void> {
    const vm = this.#vms.get(id);
    this.#vms.delete(id);
    if (!vm) return this.#ending.get(id);
    this.#options.onChange();
    const ending = this.#endNow(vm).finally(() => this.#ending.delete(id));
    this.#ending.set(id, ending);
    return ending;
  }

  async #endNow(vm: Vm): Promise<void> {
    if (!vm.isOver) await this.#options.volumes.unmount(vm);
    await vm.end(CLOSE_CODES.gone, "the sandbox was released");
    await this.#options.volumes.release(vm.id);
  }

  /** A machine of a sandbox that runs now. */
  add(vm: Vm): void {
    this.#vms.set(vm.id, vm);
    vm.guest.breaches.tell = (breach) =>
      this.#options.log.warn({ machine: vm.machine.name, ...breach }, "guest_broke_contract");
    this.#options.recordings.begin(vm);
    void vm.machine.exited.then((words) => void this.#died(vm, words));
    this.#options.onChange();
  }

  /** The machine ends as it should: nothing of it is reported any more. */
  release(vm: Vm): void {
    if (this.#vms.get(vm.id) === vm) this.#vms.delete(vm.id);
    this.#options.onChange();
  }

  /** The gateway has heard that these ended. */
  forget(reports: VmReport[]): void {
    for (const { id, ended } of reports) {
      if (!ended || !this.#vms.get(id)?.ended) continue;
      this.#vms.delete(id);
      void this.#options.records.remove(id);
    }
  }

  /** Takes no new machines; those it has go on. */
  drain(): void {
    this.isDraining = true;
    this.#options.onChange();
  }

  /** Ends all. The driver is closed first: what is on its way fails at once. */
  async close(): Promise<void> {
    this.isDraining = true;
    await Promise.all([...this.#placing.values()].map(({ answer }) => answer));
    for (const vm of this.#vms.values()) await vm.end(CLOSE_CODES.gone, "the host stops");
    this.#vms.clear();
  }

  /** Reported as before until it is known what is left of it. */
  async #died(vm: Vm, words: string): Promise<void> {
    if (this.#vms.get(vm.id) !== vm) return;
    const { log, records, volumes, onChange } = this.#options;
    log.warn({ machine: vm.machine.name, words }, "machine_died");
    vm.isOver = true;
    const isSaved = records.checkpointOf(vm.id).recordId !== undefined;
    const [state, code] = isSaved
      ? (["paused", CLOSE_CODES.paused] as const)
      : (["gone", CLOSE_CODES.gone] as const);
    vm.endSockets(state, code, "the machine died");
    const isReplaced = (): boolean => this.get(vm.id) !== undefined;
    const isPaused = await records.onDied(vm.id, isReplaced).catch(() => false);
    // Ended meanwhile, or resumed.
    if (this.#vms.get(vm.id) !== vm) return;
    vm.ended = "machine_died";
    if (isPaused) this.#vms.delete(vm.id);
    else void volumes.release(vm.id);
    onChange();
  }

  /** The answer to a placement that succeeded; a machine that was released meanwhile is ended now. */
  async placed(vm: Vm): Promise<Placed> {
    if (!this.#placing.get(vm.id)?.givenUp.signal.aborted) return { placed: this.#stamp(vm) };
    await this.end(vm.id);
    return released();
  }

  /** The answer to a placement that failed. */
  unmade(error: unknown): Placed {
    if (error instanceof VolumeBusy) return refuse(503, "VolumeBusy", error.message);
    if (error instanceof PathTaken) return refuse(409, "VolumePathTaken", error.message);
    if (error instanceof StateError && error.status === 503)
      return refuse(503, "NoCapacity", error.message);
    if (error instanceof StateError && error.status === 507)
      return refuse(507, "InsufficientCapacity", error.message);
    this.#options.log.error({ reason: messageOf(error) }, "machine_not_made");
    return refuse(503, "NoCapacity", "The machine could not be made.");
  }

  #stamp(vm: Vm): VmPlaced {
    return { ...vm.placed, ...screenOf(vm.guest.self), ...this.stamp() };
  }

  /** Orders an answer among the heartbeats. */
  stamp(): { bootId: string; seq: number } {
    return { bootId: this.bootId, seq: this.nextSeq() };
  }
}

/** The answer to a placement that nobody waits for any more. */
export function released(): Placed {
  return refuse(503, "NoCapacity", "It was released while it was being made.");
}

export function refuse(status: 409 | 503 | 507, code: VmRefused["code"], error: string): Placed {
  return { status, refused: { error, code } };
}
