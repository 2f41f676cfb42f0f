import type { MachineSpec } from "../driver.ts";
import { newSelf } from "../guest/identity.ts";
import { ANSWER_MS, type Made, type Maker } from "./maker.ts";

const RETRY_MS = 5_000;

export interface WarmOptions {
  maker: Maker;
  spec: MachineSpec;
  wanted: number;
  onChange: () => void;
}

/** Clones of the common size that wait for an owner. */
export class WarmMachines {
  readonly #maker: Maker;
  readonly #wanted: number;
  readonly #ready: Made[] = [];
  readonly #spec: MachineSpec;
  #filling: Promise<void> | null = null;
  readonly #onChange: () => void;
  #isClosed = false;

  /** Keeps so many clones of one machine ready, from `start` on. */
  constructor({ maker, spec, wanted, onChange }: WarmOptions) {
    this.#maker = maker;
    this.#spec = spec;
    this.#wanted = wanted;
    this.#onChange = onChange;
  }

  get idle(): number {
    return this.#ready.length;
  }

  /** A clone of this size, if there is one. Two callers never get the same. */
  take({ image, initrd, cpu, memMb }: MachineSpec): Made | null {
    const index = this.#ready.findIndex(
      ({ machine: { spec } }) =>
        spec.cpu === cpu &&
        spec.memMb === memMb &&
        spec.image.image === image.image &&
        spec.initrd.hash === initrd.hash,
    );
    const [made = null] = index < 0 ? [] : this.#ready.splice(index, 1);
    return made;
  }

  start(): void {
    this.fill();
    this.#maker.prepare(this.#spec);
  }

  /** Makes what is missing, one after the other. */
  fill(): void {
    this.#filling ??= this.#fill().finally(() => (this.#filling = null));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#filling;
    await Promise.all(this.#ready.splice(0).map(({ machine }) => machine.destroy()));
  }

  async #fill(): Promise<void> {
    while (!this.#isClosed && this.#ready.length < this.#wanted) {
      const made = await this.#warm(this.#spec).catch(() => null);
      if (!made) {
        // The golden machine is being built, or has a fault that time may mend.
        setTimeout(() => this.fill(), RETRY_MS).unref();
        return;
      }
      if (this.#isClosed) return made.machine.destroy();
      this.#ready.push({ ...made, how: "warm" });
      this.#onChange();
      void made.machine.exited.then(() => this.#lost(made));
    }
  }

  /** A clone that has answered once: what the host emulates for that is translated then. */
  async #warm(spec: MachineSpec): Promise<Made | null> {
    const made = await this.#maker.cloneOf(spec);
    if (!made) return null;
    try {
      await made.guest.identify(newSelf({}, true), ANSWER_MS.warm);
      await made.guest.exec({ cmd: "/bin/true" });
      return made;
    } catch (error) {
      await made.machine.destroy();
      throw error;
    }
  }

  #lost({ machine }: Made): void {
    const index = this.#ready.findIndex((made) => made.machine === machine);
    if (index < 0) return;
    this.#ready.splice(index, 1);
    this.fill();
  }
}
