import { once } from "node:events";
import { SCREEN_DEFAULT } from "@svc/contract/vm/machine.ts";
import type { PlaceVm } from "@svc/contract/host-protocol/vms.ts";
import type { Log } from "@svc/host-kit/log.ts";
import type { MachineSpec } from "../driver.ts";
import { newSelf, screenOf } from "../guest/identity.ts";
import type { Volumes } from "../volumes/volumes.ts";
import { type Capacity, memoryClass } from "./capacity.ts";
import { growToAsked } from "./grow-disk.ts";
import { ANSWER_MS, type Made, type Maker } from "./maker.ts";
import { Vm } from "./vm.ts";
import { type Placed, type Vms, released } from "./vms.ts";
import type { WarmSets } from "./warm-sets.ts";

/**
 * How long a desktop's screen may take to come up beside its machine's agent. As `ANSWER_MS` it ends only what never comes
 * up: how long a create may take is the gateway's to say, which ends the machine when it gives up.
 */
const SCREEN_MS = 60_000;
/** How long after a warm machine was taken the next one is made. */
const REFILL_MS = 1_000;

/** How a machine for a sandbox is made. */
export interface MachineSource {
  spec: MachineSpec;
  make(): Promise<Made>;
  /** The guest knows already who it is. */
  isIdentified?: boolean;
  /** A fork keeps the disk that it has. */
  diskGb?: number;
}

export interface PlacerParts {
  vms: Vms;
  maker: Maker;
  warm: WarmSets;
  capacity: Capacity;
  volumes: Volumes;
  /** Machines have a way out that is filtered; without a filter they have no network. */
  hasEgress: boolean;
  log: Log;
}

/** A machine on its way to a sandbox, until nobody waits for it any more. */
interface Placing {
  id: string;
  ask: PlaceVm;
  source: MachineSource;
  givenUp: AbortSignal;
}

/** Makes machines for sandboxes. */
export class Placer {
  readonly #parts: PlacerParts;

  constructor(parts: PlacerParts) {
    this.#parts = parts;
  }

  /** A machine of an image. A repeat gets what the first got. */
  place(id: string, ask: PlaceVm, base: Omit<MachineSpec, "cpu" | "memMb">): Promise<Placed> {
    const spec = { ...base, cpu: ask.cpu, memMb: memoryClass(ask.memMb) };
    return this.placeFrom(id, ask, { spec, make: () => this.make(spec) });
  }

  /** A machine that is made in another way. A repeat gets what the first got. */
  placeFrom(id: string, ask: PlaceVm, source: MachineSource): Promise<Placed> {
    return this.#parts.vms.place(id, (givenUp) => this.#place({ id, ask, source, givenUp }));
  }

  /** A machine like this that nobody owns yet. */
  async make(spec: MachineSpec): Promise<Made> {
    const { warm, maker } = this.#parts;
    const found = await warm.take(spec);
    // A moment later: the new clone would take the processor from this one's first steps.
    if (found) setTimeout(() => warm.fill(), REFILL_MS).unref();
    return found ?? maker.make(spec);
  }

  async #place(placing: Placing): Promise<Placed> {
    const startedAt = Date.now();
    const { capacity, vms, warm } = this.#parts;
    const { source } = placing;
    let giveBack: (() => void) | null = null;
    try {
      giveBack = capacity.claim(source.spec);
      const made = await source.make();
      void made.machine.exited.then(giveBack);
      const vm = await this.#own(placing, made);
      if (!vm) {
        giveBack();
        warm.adopt(made);
        return released();
      }
      vm.placed.acquiredMs = Date.now() - startedAt;
      vms.add(vm);
      return await vms.placed(vm);
    } catch (error) {
      giveBack?.();
      return vms.unmade(error);
    }
  }

  /**
   * Gives a machine to its sandbox: nothing of it is reported before the guest knows who it is. Null when nobody waits for the
   * sandbox any more while the machine boots: the machine is still nobody's.
   */
  async #own({ id, ask, source, givenUp }: Placing, made: Made): Promise<Vm | null> {
    const { volumes, hasEgress, log } = this.#parts;
    const { machine, guest, how } = made;
    const { kind, isolation, envs } = ask;
    try {
      if (!(await isWaitedFor(made, givenUp))) return null;
      const hasNetwork = isolation !== "hardened" && hasEgress;
      if (!source.isIdentified) {
        if (!hasNetwork) await machine.setNetwork(false);
        const self = newSelf({ kind, envs, hasNetwork, ...screenOf(ask), ...recordingOf(ask) });
        await guest.identify(self, ANSWER_MS[how]);
      }
      const diskGb = source.diskGb ?? (await growToAsked(made, ask.diskGb));
      await volumes.attach(id, ask.volumes ?? [], made);
      const { cpu, memMb } = machine.spec;
      const enforcement = { cpu: "vm", memMb: "vm" } as const;
      const got = { cpu, memMb, diskGb, isolation, enforcement, how, acquiredMs: 0 };
      const vm = new Vm(id, machine, guest, got);
      const { resolution } = guest.self;
      // A fork of a snapshot has the screen of its origin, as it was.
      if (ask.resolution !== undefined || !source.isIdentified)
        await vm.screen?.begin(resolution ?? SCREEN_DEFAULT, SCREEN_MS, givenUp);
      return vm;
    } catch (error) {
      const console = (await machine.console()).slice(-1_000);
      log.warn({ how, console }, "machine_not_identified");
      await machine.destroy();
      await volumes.release(id);
      throw error;
    }
  }
}

const recordingOf = ({ record }: PlaceVm) => (record ? ({ isRecorded: true } as const) : {});

/** Whether the sandbox is still waited for once the machine can be told whose it is. */
async function isWaitedFor({ guest, how }: Made, givenUp: AbortSignal): Promise<boolean> {
  if (how === "boot" && !givenUp.aborted)
    await Promise.race([guest.up(ANSWER_MS.boot), once(givenUp, "abort")]);
  // A fork holds what a customer had in memory: nobody else may get it.
  return how === "fork" || !givenUp.aborted;
}
