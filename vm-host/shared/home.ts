import type { ShareSpec } from "@svc/contract/control-channel/share-methods.ts";
import type { Machine, MachineSpec } from "../driver.ts";
import type { Guest } from "../guest/guest.ts";
import type { Made } from "../maker.ts";
import { type Holder, SHARED_DISK_GB } from "./choose.ts";
import type { Around, ShareMachine } from "./share-machine.ts";

export interface HomeParts extends Made {
  org: string;
  ground: string;
}

/** A machine of one org that holds shares. */
export class Home implements Holder, Around {
  readonly org: string;
  readonly ground: string;
  readonly machine: Machine;
  readonly guest: Guest;
  readonly how: Made["how"];
  /** It takes no more shares once it ends. */
  isOpen = true;
  readonly #shares = new Map<string, ShareSpec>();

  constructor({ org, ground, machine, guest, how }: HomeParts) {
    this.org = org;
    this.ground = ground;
    this.machine = machine;
    this.guest = guest;
    this.how = how;
    void machine.exited.then(() => (this.isOpen = false));
  }

  get name(): string {
    return this.machine.name;
  }

  get spec(): MachineSpec {
    return this.machine.spec;
  }

  get cpu(): number {
    return this.spec.cpu;
  }

  get memMb(): number {
    return this.spec.memMb;
  }

  get shares(): ShareSpec[] {
    return [...this.#shares.values()];
  }

  get size(): number {
    return this.#shares.size;
  }

  /** Makes room for the disks of shares. */
  async grow(): Promise<void> {
    await this.machine.growDisk(SHARED_DISK_GB);
    const { exitCode, stderr } = await this.guest.exec({ cmd: "resize2fs", args: ["/dev/vda"] });
    if (exitCode !== 0) throw new Error(`the disk did not grow: ${stderr}`);
  }

  take(share: ShareSpec): void {
    this.#shares.set(share.id, share);
  }

  onEnd({ name }: ShareMachine): Promise<void> {
    return this.#gone(name);
  }

  /** Ends a share that could not be made whole. */
  async drop(id: string): Promise<void> {
    await this.guest.control.ask("shares.end", { id }).catch(() => null);
    await this.#gone(id);
  }

  async #gone(id: string): Promise<void> {
    this.#shares.delete(id);
    if (this.#shares.size > 0 || !this.isOpen) return;
    this.isOpen = false;
    await this.machine.destroy();
  }
}
