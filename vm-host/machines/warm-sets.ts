import { VM_SIZES } from "@svc/contract/vm/machine.ts";
import type { MachineSpec } from "../driver.ts";
import type { Made } from "./maker.ts";
import { WarmMachines, type WarmOptions } from "./warm-machines.ts";

/** The warm machines of a host: a set for each image, of the common size. */
export class WarmSets {
  readonly #options: Omit<WarmOptions, "spec" | "wanted">;
  readonly #sets = new Map<string, WarmMachines>();

  constructor(options: Omit<WarmOptions, "spec" | "wanted">) {
    this.#options = options;
  }

  /** Keeps so many machines of an image ready from now on. Resolves when the first is. */
  async keep(bootable: Pick<MachineSpec, "image" | "initrd">, wanted: number): Promise<void> {
    if (wanted === 0) return;
    const set = new WarmMachines({ ...this.#options, spec: commonOf(bootable), wanted });
    this.#sets.set(bootable.image.name, set);
    set.start();
    await set.first;
  }

  /** Has the golden machine of an image made in the background, and keeps no machine ready. */
  prepare(bootable: Pick<MachineSpec, "image" | "initrd">): void {
    this.#options.maker.prepare(commonOf(bootable));
  }

  /** How many machines of an image are ready. */
  idleOf(imageName: string): number {
    return this.#sets.get(imageName)?.idle ?? 0;
  }

  /** A machine like this, if there is one or one boots. */
  async take(spec: MachineSpec): Promise<Made | null> {
    return (await this.#of(spec)?.take(spec)) ?? null;
  }

  /** Takes a machine that boots and has no owner. */
  adopt(made: Made): void {
    const set = this.#of(made.machine.spec);
    if (set) set.keep(made);
    else void made.machine.destroy();
  }

  /** Makes what is missing. */
  fill(): void {
    for (const set of this.#sets.values()) set.fill();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sets.values()].map((set) => set.close()));
  }

  #of({ image }: MachineSpec): WarmMachines | undefined {
    return this.#sets.get(image.name);
  }
}

/** The machine of an image that most creates ask for. */
const commonOf = (bootable: Pick<MachineSpec, "image" | "initrd">): MachineSpec => ({
  ...bootable,
  cpu: VM_SIZES.cpu.default,
  memMb: VM_SIZES.memMb.default,
});
