import type { BuildTemplate } from "@svc/contract/host-protocol/templates.ts";
import type { Machine, MachineSpec, VmDriver } from "../driver.ts";
import type { GoldenMachines } from "../golden/golden-machines.ts";
import type { Guest } from "../guest/guest.ts";
import { type NewSelf, type Self, newSelf, screenOf } from "../guest/identity.ts";
import type { Images } from "../images/images.ts";
import { hashOf } from "../images/recipe.ts";
import { kindOfImage } from "../images/recipes.ts";
import { memoryClass } from "../machines/capacity.ts";
import { growToAsked } from "../machines/grow-disk.ts";
import { ANSWER_MS, type Maker } from "../machines/maker.ts";
import type { RecordKeeper } from "../records/keeper.ts";
import type { RecordFinder } from "../records/record-finder.ts";
import type { StoredRecord } from "../records/store.ts";
import type { Setting } from "./plan.ts";

/** A machine that knows who it is. */
export interface Begun {
  machine: Machine;
  guest: Guest;
}

/** What a build begins with. */
export interface Base {
  spec: MachineSpec;
  /** Names it, for the steps that follow. */
  key: string;
  setting: Setting;
  make(): Promise<Begun>;
}

export interface BasesParts {
  images: Images;
  driver: VmDriver;
  maker: Maker;
  goldenMachines: GoldenMachines;
  keeper: RecordKeeper;
  finder: RecordFinder;
  hasEgress: boolean;
}

/** Makes machines that builds begin with. */
export class Bases {
  readonly #parts: BasesParts;

  constructor(parts: BasesParts) {
    this.#parts = parts;
  }

  /** Throws with the reason where there is none. */
  async of(ask: BuildTemplate): Promise<Base> {
    return ask.from.type === "image"
      ? this.#image(ask, ask.from.name)
      : this.#record(ask, ask.from.id);
  }

  /** A machine that goes on after a step. */
  from(step: StoredRecord): Promise<Begun> {
    return this.#parts.keeper.start(step, this.#selfAfter(step), false);
  }

  async #image({ org, cpu, memMb, diskGb }: BuildTemplate, name: string): Promise<Base> {
    const { images, driver } = this.#parts;
    const found = images.find(name);
    if (!found || "hint" in found) throw new Error(found?.hint ?? `There is no ${name} here.`);
    const spec: MachineSpec = { ...found.bootable, cpu, memMb: memoryClass(memMb) };
    const { version, accelerator } = driver;
    const parts = [org, spec.image.image, spec.initrd.hash, version, accelerator.name];
    return {
      spec,
      key: hashOf(...parts, cpu, spec.memMb, diskGb),
      setting: { envs: {}, cwd: undefined, user: undefined },
      make: () => this.#clone(spec, diskGb),
    };
  }

  async #record({ org }: BuildTemplate, id: string): Promise<Base> {
    const { finder, keeper } = this.#parts;
    const stored = await finder.snapshot(org, id);
    if (!stored) throw new Error("What the build begins with is not on this host.");
    const { spec } = await keeper.savedMachineOf(stored);
    const { envs, cwd, user } = stored.record.self;
    return {
      spec,
      key: hashOf(org, stored.record.recordId, stored.record.createdAt),
      setting: { envs, cwd, user },
      make: () => keeper.start(stored, this.#selfAfter(stored), true),
    };
  }

  /** Always a clone: a record of a booted machine has no golden machine to differ from. */
  async #clone(spec: MachineSpec, diskGb: number): Promise<Begun> {
    const { maker, goldenMachines, hasEgress } = this.#parts;
    if (!(await goldenMachines.find(spec))) await goldenMachines.build(spec);
    const made = await maker.cloneOf(spec);
    if (!made) throw new Error("The host could not make a machine for the build.");
    const { machine, guest } = made;
    try {
      if (!hasEgress) await machine.setNetwork(false);
      const kind = kindOfImage(spec.image);
      await guest.identify(this.#self({ kind, envs: {} }), ANSWER_MS.clone);
      await growToAsked(made, diskGb);
      return { machine, guest };
    } catch (error) {
      await machine.destroy();
      throw error;
    }
  }

  /** A machine that goes on from a record is of its kind, and has its screen. */
  #selfAfter({ record: { self } }: StoredRecord): Self {
    const { kind, envs } = self;
    return { ...this.#self({ kind, envs }), ...screenOf(self) };
  }

  /** During a build each command is told its environment; the machine itself has none. */
  #self(facts: Pick<NewSelf, "kind" | "envs">): Self {
    return newSelf({ ...facts, hasNetwork: this.#parts.hasEgress });
  }
}
