import type { BuildTemplate } from "@svc/contract/host-protocol/templates.ts";
import type { MachineSpec, VmDriver } from "../driver.ts";
import type { Guest } from "../guest/guest.ts";
import { newSelf } from "../guest/identity.ts";
import { hashOf } from "../images/recipe.ts";
import type { Images } from "../images/images.ts";
import { ANSWER_MS, type Maker } from "../machines/maker.ts";
import { memoryClass } from "../machines/capacity.ts";
import type { Finder } from "../snapshots/finder.ts";
import type { RecordKeeper } from "../snapshots/keeper.ts";
import type { Kept } from "../snapshots/store.ts";
import type { Templates } from "../templates/templates.ts";
import type { Vm } from "../machines/vm.ts";
import { grownDisk } from "../machines/grow-disk.ts";
import type { Setting } from "./plan.ts";

/** A machine that knows who it is. */
export interface Begun {
  machine: Vm["machine"];
  guest: Guest;
}

/** What a build begins with. */
export interface Base {
  spec: MachineSpec;
  /** Names it, for the layers over it. */
  key: string;
  setting: Setting;
  make(): Promise<Begun>;
}

export interface BasesParts {
  images: Images;
  driver: VmDriver;
  maker: Maker;
  templates: Templates;
  keeper: RecordKeeper;
  finder: Finder;
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

  /** A machine that goes on from a layer. */
  from(layer: Kept): Promise<Begun> {
    return this.#parts.keeper.start(layer, this.#self(layer.record.self.envs), false);
  }

  async #image({ org, cpu, memMb, diskGb }: BuildTemplate, name: string): Promise<Base> {
    const { images, driver } = this.#parts;
    const found = images.find(name);
    if (!found || "hint" in found) throw new Error(found?.hint ?? `There is no ${name} here.`);
    const spec: MachineSpec = { ...found.ground, cpu, memMb: memoryClass(memMb) };
    const { version, accelerator } = driver;
    const parts = [org, spec.image.image, spec.layer.hash, version, accelerator.name];
    return {
      spec,
      key: hashOf(...parts, cpu, spec.memMb, diskGb),
      setting: { envs: {}, cwd: undefined, user: undefined },
      make: () => this.#clone(spec, diskGb),
    };
  }

  async #record({ org }: BuildTemplate, id: string): Promise<Base> {
    const { finder, keeper } = this.#parts;
    const kept = await finder.snapshot(org, id);
    if (!kept) throw new Error("What the build begins with is not on this host.");
    const { spec } = await keeper.restOf(kept);
    const { envs, cwd, user } = kept.record.self;
    return {
      spec,
      key: hashOf(org, kept.record.recordId, kept.record.createdAt),
      setting: { envs, cwd, user },
      make: () => keeper.start(kept, this.#self(envs), true),
    };
  }

  /** From a template always: what a boot has made could not be one again. */
  async #clone(spec: MachineSpec, diskGb: number): Promise<Begun> {
    const { maker, templates, hasEgress } = this.#parts;
    if (!(await templates.find(spec))) await templates.build(spec);
    const made = await maker.cloneOf(spec);
    if (!made) throw new Error("The host could not make a machine for the build.");
    const { machine, guest } = made;
    try {
      if (!hasEgress) await machine.setNetwork(false);
      await guest.identify(this.#self({}), ANSWER_MS.clone);
      await grownDisk(made, diskGb);
      return { machine, guest };
    } catch (error) {
      await machine.destroy();
      throw error;
    }
  }

  /** During a build every command is told its environment; the machine itself has none. */
  #self(envs: Record<string, string>) {
    return newSelf({ ...envs }, this.#parts.hasEgress);
  }
}
