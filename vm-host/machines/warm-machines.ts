import { type Log, messageOf } from "@svc/host-kit/log.ts";
import type { MachineSpec } from "../driver.ts";
import { newSelf } from "../guest/identity.ts";
import { kindOfImage } from "../images/recipes.ts";
import { ANSWER_MS, type Made, type Maker } from "./maker.ts";

const RETRY_MS = 5_000;

export interface WarmOptions {
  maker: Maker;
  spec: MachineSpec;
  wanted: number;
  log: Log;
  onChange: () => void;
}

/** Clones of the common size that wait for an owner. */
export class WarmMachines {
  readonly #maker: Maker;
  readonly #wanted: number;
  readonly #ready: Made[] = [];
  /** Machines that nobody waits for any more, and that still boot. */
  readonly #coming = new Set<Promise<Made | null>>();
  readonly #spec: MachineSpec;
  #filling: Promise<void> | null = null;
  readonly #log: Log;
  readonly #onChange: () => void;
  readonly #first = Promise.withResolvers<void>();
  #isClosed = false;

  /** Keeps so many clones of one machine ready, from `start` on. */
  constructor({ maker, spec, wanted, log, onChange }: WarmOptions) {
    this.#maker = maker;
    this.#spec = spec;
    this.#wanted = wanted;
    this.#log = log;
    this.#onChange = onChange;
  }

  /** Resolves when the first machine is ready. */
  get first(): Promise<void> {
    return this.#first.promise;
  }

  get idle(): number {
    return this.#ready.length;
  }

  /** A machine of this size, if there is one or one boots. Two callers never get the same. */
  async take(spec: MachineSpec): Promise<Made | null> {
    const index = this.#ready.findIndex(({ machine }) => isLike(machine.spec, spec));
    if (index >= 0) return this.#ready.splice(index, 1)[0] ?? null;
    const [coming] = isLike(this.#spec, spec) ? this.#coming : [];
    if (!coming) return null;
    this.#coming.delete(coming);
    return coming;
  }

  /** Takes a machine that boots and has no owner: the boot is paid for, and the next sandbox need not pay it again. */
  keep(made: Made): void {
    const isWanted = !this.#isClosed && this.#missing > 0 && isLike(made.machine.spec, this.#spec);
    if (!isWanted) return void made.machine.destroy();
    const coming = this.#settled(made, "boot").catch((error: unknown) => this.#failed(error));
    this.#coming.add(coming);
    void coming.then((settled) => {
      // Taken while it booted otherwise.
      if (this.#coming.delete(coming) && settled) this.#add(settled);
    });
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
    await Promise.all([this.#filling, ...this.#coming]);
    await Promise.all(this.#ready.splice(0).map(({ machine }) => machine.destroy()));
  }

  get #missing(): number {
    return this.#wanted - this.#ready.length - this.#coming.size;
  }

  async #fill(): Promise<void> {
    while (!this.#isClosed && this.#missing > 0) {
      const made = await this.#warm(this.#spec).catch((error: unknown) => this.#failed(error));
      if (!made) {
        // The golden machine is being built, or has a fault that time may mend.
        setTimeout(() => this.fill(), RETRY_MS).unref();
        return;
      }
      this.#add(made);
    }
  }

  #add(made: Made): void {
    if (this.#isClosed) return void made.machine.destroy();
    this.#ready.push(made);
    this.#first.resolve();
    this.#onChange();
    void made.machine.exited.then(() => this.#lost(made));
  }

  async #warm(spec: MachineSpec): Promise<Made | null> {
    const made = await this.#maker.cloneOf(spec);
    return made && this.#settled(made, "warm");
  }

  /** A machine that has answered once: what the host emulates for that is translated then. */
  async #settled(made: Made, from: keyof typeof ANSWER_MS): Promise<Made> {
    try {
      const kind = kindOfImage(made.machine.spec.image);
      await made.guest.identify(newSelf({ kind, envs: {}, hasNetwork: true }), ANSWER_MS[from]);
      await made.guest.exec({ cmd: "/bin/true" });
      return { ...made, how: "warm" };
    } catch (error) {
      await made.machine.destroy();
      throw error;
    }
  }

  #failed(error: unknown): null {
    this.#log.warn({ reason: messageOf(error) }, "warm_machine_not_made");
    return null;
  }

  #lost({ machine }: Made): void {
    const index = this.#ready.findIndex((made) => made.machine === machine);
    if (index < 0) return;
    this.#ready.splice(index, 1);
    this.fill();
  }
}

function isLike(one: MachineSpec, other: MachineSpec): boolean {
  return (
    one.cpu === other.cpu &&
    one.memMb === other.memMb &&
    one.image.image === other.image.image &&
    one.initrd.hash === other.initrd.hash
  );
}
