import { randomUUID } from "node:crypto";
import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import type { PlaceVm, VmPlaced, VmRefused, VmReport } from "@svc/contract/host-protocol/vms.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import type { Capability, MachineSpec } from "../driver.ts";
import { grownDisk } from "./grow-disk.ts";
import { newSelf } from "../guest/identity.ts";
import { ANSWER_MS, type Made, type Maker } from "./maker.ts";
import type { Shelf } from "./warm-machines.ts";
import { type Capacity, memoryClass } from "./capacity.ts";
import { Vm } from "./vm.ts";
import { PathTaken } from "../volumes/path.ts";
import { VolumeBusy } from "../volumes/copies.ts";
import type { Volumes } from "../volumes/volumes.ts";

/** How a placement ended. */
export type Placed = { placed: VmPlaced } | { status: 409 | 503 | 507; refused: VmRefused };

/** A machine that is to be made for a sandbox. */
export interface Recipe {
  spec: MachineSpec;
  make(): Promise<Made>;
  /** It knows already who it is. */
  isIdentified?: boolean;
  /** A fork keeps the disk that it has. */
  diskGb?: number;
}

/** What knows the machines that do not run. */
export interface Asleep {
  reports(): VmReport[];
  /** The last checkpoint of one that runs, for its report. */
  checkpointOf(id: string): Partial<VmReport>;
  has(id: string): boolean;
  /** Its machine died, by itself. True when it is paused from now on, as it was when it was last saved. */
  fell(id: string): Promise<boolean>;
  /** Forgets it, once what is under way with it is over. */
  remove(id: string): Promise<void>;
}

export interface VmsOptions {
  capacity: Capacity;
  volumes: Volumes;
  log: Log;
  /** Machines have a way out that is filtered; without one they have none. */
  hasEgress: boolean;
  onChange: () => void;
}

/** The machines of this host that belong to sandboxes. */
export class Vms {
  readonly bootId = randomUUID();
  isDraining = false;
  readonly #options: VmsOptions;
  readonly #vms = new Map<string, Vm>();
  readonly #placing = new Map<string, Promise<Placed>>();
  /** Ids that were ended while they were on their way. */
  readonly #cancelled = new Set<string>();
  /** Machines that are being ended. */
  readonly #ending = new Map<string, Promise<void>>();
  #source: { maker: Maker; shelf: Shelf } | null = null;
  #asleep: Asleep | null = null;
  #seq = 0;

  constructor(options: VmsOptions) {
    this.#options = options;
  }

  /** Machines can be made from now on. */
  open(maker: Maker, shelf: Shelf): void {
    this.#source = { maker, shelf };
  }

  /** Whether its machines can do what only some can. */
  can(capability: Capability): boolean {
    return this.#source?.maker.can(capability) ?? false;
  }

  /** Machines that do not run are here as well. */
  know(asleep: Asleep): void {
    this.#asleep = asleep;
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
      return { id, state: "starting", lastActivityAt: Date.now() };
    });
    const running = [...this.#vms.values()].map((vm) => {
      return { ...vm.report(), ...this.#asleep?.checkpointOf(vm.id) };
    });
    const awake = new Set(running.map(({ id }) => id));
    const asleep = this.#asleep?.reports().filter(({ id }) => !awake.has(id)) ?? [];
    return [...starting, ...running, ...asleep];
  }

  /** Those that run, or can. */
  get all(): Vm[] {
    return [...this.#vms.values()].filter(({ isOver }) => !isOver);
  }

  /** Makes a machine for a sandbox. A repeat gets what the first got. */
  async place(id: string, ask: PlaceVm, base: Omit<MachineSpec, "cpu" | "memMb">): Promise<Placed> {
    const spec = { ...base, cpu: ask.cpu, memMb: memoryClass(ask.memMb) };
    return this.placeAs(id, ask, { spec, make: () => this.make(spec) });
  }

  placeAs(id: string, ask: PlaceVm, recipe: Recipe): Promise<Placed> {
    return this.placeBy(id, () => this.#place(id, ask, recipe));
  }

  /** Places by other means: `place` has added the machine when it says that it is placed. */
  async placeBy(id: string, place: () => Promise<Placed>): Promise<Placed> {
    const known = this.get(id);
    if (known) return { placed: this.#stamp(known) };
    const under = this.#placing.get(id);
    if (under) return under;
    if (this.isDraining) return refuse(503, "NoCapacity", "This host takes no new machines.");
    if (this.#asleep?.has(id)) return refuse(409, "NotRunning", "This machine is paused.");
    const placing = place();
    this.#placing.set(id, placing);
    return placing.finally(() => this.#placing.delete(id));
  }

  /** Ends a machine, also one that is on its way. Nothing when there is none. */
  async end(id: string): Promise<void> {
    if (this.#placing.has(id)) this.#cancelled.add(id);
    await this.#end(id);
    await this.#asleep?.remove(id);
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
    void vm.machine.exited.then((words) => void this.#died(vm, words));
    this.#options.onChange();
  }

  /** It ends, and that is as it should be. */
  release(vm: Vm): void {
    if (this.#vms.get(vm.id) === vm) this.#vms.delete(vm.id);
    this.#options.onChange();
  }

  /** The gateway has heard that these ended. */
  forget(reports: VmReport[]): void {
    for (const { id, ended } of reports) {
      if (!ended || !this.#vms.get(id)?.ended) continue;
      this.#vms.delete(id);
      void this.#asleep?.remove(id);
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
    await Promise.all(this.#placing.values());
    for (const vm of this.#vms.values()) await vm.end(CLOSE_CODES.gone, "the host stops");
    this.#vms.clear();
  }

  async #place(id: string, ask: PlaceVm, recipe: Recipe): Promise<Placed> {
    const startedAt = Date.now();
    const room = this.#options.capacity.take(recipe.spec);
    if (room === "slots") return refuse(503, "NoCapacity", "Every place on this host is taken.");
    if (room === "size")
      return refuse(507, "InsufficientCapacity", "This size does not fit here right now.");
    try {
      const made = await recipe.make();
      void made.machine.exited.then(() => room());
      const vm = await this.#own(id, ask, recipe, made, startedAt);
      return await this.placed(vm);
    } catch (error) {
      room();
      return this.unmade(id, error);
    }
  }

  /** A machine like this that nobody owns yet. */
  async make(spec: MachineSpec): Promise<Made> {
    if (!this.#source) throw new Error("no machines can be made yet");
    const { shelf, maker } = this.#source;
    const warm = shelf.take(spec);
    // A moment later: the new clone would take the processor from this one's first steps.
    if (warm) setTimeout(() => shelf.fill(), 1_000).unref();
    return warm ?? maker.make(spec);
  }

  /** Gives a machine to its sandbox: nothing of it is reported before the guest knows who it is. */
  async #own(id: string, ask: PlaceVm, recipe: Recipe, made: Made, startedAt: number): Promise<Vm> {
    const { machine, guest, how } = made;
    const { isolation, envs } = ask;
    try {
      const hasNetwork = isolation !== "hardened" && this.#options.hasEgress;
      if (!recipe.isIdentified) {
        if (!hasNetwork) await machine.setNetwork(false);
        await guest.identify(newSelf(envs, hasNetwork), ANSWER_MS[how]);
      }
      const diskGb = recipe.diskGb ?? (await grownDisk(made, ask.diskGb));
      await this.#options.volumes.attach(id, ask.volumes ?? [], { machine, guest });
      const { cpu, memMb } = machine.spec;
      const enforcement = { cpu: "vm", memMb: "vm" } as const;
      const acquiredMs = Date.now() - startedAt;
      const got = { cpu, memMb, diskGb, isolation, enforcement, how, acquiredMs };
      const vm = new Vm(id, machine, guest, got);
      this.add(vm);
      return vm;
    } catch (error) {
      const console = (await machine.console()).slice(-1_000);
      this.#options.log.warn({ how, console }, "a machine did not take its identity");
      await machine.destroy();
      await this.#options.volumes.release(id);
      throw error;
    }
  }

  /** Reported as it was until it is known what is left of it. */
  async #died(vm: Vm, words: string): Promise<void> {
    if (this.#vms.get(vm.id) !== vm) return;
    const { log, volumes, onChange } = this.#options;
    log.warn({ machine: vm.machine.name, words }, "a machine died");
    vm.isOver = true;
    const isSaved = this.#asleep?.checkpointOf(vm.id).recordId !== undefined;
    const [state, code] = isSaved
      ? (["paused", CLOSE_CODES.paused] as const)
      : (["gone", CLOSE_CODES.gone] as const);
    vm.endSockets(state, code, "the machine died");
    const isPaused = await this.#asleep?.fell(vm.id).catch(() => false);
    // Ended meanwhile, or resumed.
    if (this.#vms.get(vm.id) !== vm) return;
    vm.ended = "machine_died";
    if (isPaused) this.#vms.delete(vm.id);
    else void volumes.release(vm.id);
    onChange();
  }

  /** The answer to a placement that succeeded; one that was ended meanwhile is ended now. */
  async placed(vm: Vm): Promise<Placed> {
    if (!this.#cancelled.delete(vm.id)) return { placed: this.#stamp(vm) };
    await this.end(vm.id);
    return refuse(503, "NoCapacity", "It was released while it was being made.");
  }

  /** The answer to a placement that failed. */
  unmade(id: string, error: unknown): Placed {
    this.#cancelled.delete(id);
    if (error instanceof VolumeBusy) return refuse(503, "VolumeBusy", error.message);
    if (error instanceof PathTaken) return refuse(409, "VolumePathTaken", error.message);
    this.#options.log.error({ reason: messageOf(error) }, "a machine could not be made");
    return refuse(503, "NoCapacity", "The machine could not be made.");
  }

  #stamp(vm: Vm): VmPlaced {
    return { ...vm.placed, ...this.stamp() };
  }

  /** Orders an answer among the heartbeats. */
  stamp(): { bootId: string; seq: number } {
    return { bootId: this.bootId, seq: this.nextSeq() };
  }
}

export function refuse(status: 409 | 503 | 507, code: VmRefused["code"], error: string): Placed {
  return { status, refused: { error, code } };
}
