import type { ShareSpec } from "@svc/contract/control-channel/share-methods.ts";
import type { Duplex } from "node:stream";
import type { GuestPort, Machine, MachineSpec, Usage } from "../driver.ts";
import { Guest } from "../guest/guest.ts";
import { GuestSocket } from "../guest/socket.ts";

/** The home of a share, as the share sees it. */
export interface Around {
  spec: MachineSpec;
  guest: Guest;
  /** A share has ended. */
  onEnd(machine: ShareMachine): Promise<void>;
}

/** A share as a machine: its agent speaks through two streams of its home's agent. */
export class ShareMachine implements Machine {
  readonly name: string;
  readonly spec: MachineSpec;
  readonly golden = null;
  readonly layers: string[] = [];
  readonly volumes = [];
  readonly diskGb: number;
  readonly exited: Promise<string>;
  readonly #around: Around;
  readonly #ports: Record<GuestPort, GuestSocket>;
  #ending: Promise<void> | null = null;
  #isLeft = false;

  /** A share that was made, or thawed. */
  constructor(share: ShareSpec, around: Around) {
    const { id, cpu, memMb, diskGb } = share;
    this.#around = around;
    this.name = id;
    this.spec = { ...around.spec, cpu, memMb };
    this.diskGb = diskGb;
    const { control, files } = around.guest;
    this.#ports = {
      control: new GuestSocket((options) =>
        control.call("shares.dial", { id, port: "control" }, options),
      ),
      bulk: new GuestSocket((options) => files.call("shares.dial", { id, port: "bulk" }, options)),
    };
    for (const port of Object.values(this.#ports)) {
      port.on("error", () => port.destroy());
      // Its end is the share's.
      port.ended.then(
        () => port.destroy(),
        () => port.destroy(),
      );
    }
    this.exited = new Promise((resolve) => {
      this.#ports.control.once("close", () => resolve("the share has ended"));
    });
    void this.exited.then(() => {
      if (!this.#isLeft) void this.destroy();
    });
  }

  openStream(port: GuestPort): Duplex {
    return this.#ports[port];
  }

  async stop(): Promise<void> {
    await this.#freeze(true);
  }

  async cont(): Promise<void> {
    await this.#freeze(false);
  }

  async setNetwork(): Promise<void> {
    throw new Error("a share has the network of its machine");
  }

  async growDisk(): Promise<void> {
    throw new Error("a share has the disk it was made with");
  }

  async plug(): Promise<void> {
    throw new Error("a share has no disks of its own");
  }

  async unplug(): Promise<void> {}

  async written(): Promise<null> {
    return null;
  }

  async yield(): Promise<void> {
    throw new Error("a share steps back by its weight alone");
  }

  async usage(): Promise<Usage | null> {
    const found = await this.#read().catch(() => null);
    return found && { cpuMs: found.cpuMs, residentBytes: found.memBytes };
  }

  async console(): Promise<string> {
    return "";
  }

  keepDisk(): void {}

  quit(): Promise<void> {
    return this.destroy();
  }

  destroy(): Promise<void> {
    return (this.#ending ??= this.#destroy());
  }

  /** Lets go of its agent; the share itself stays. */
  leave(): void {
    this.#isLeft = true;
    for (const port of Object.values(this.#ports)) port.destroy();
  }

  /** What its machine counts of it. */
  #read() {
    return this.#around.guest.control.ask("shares.read", { id: this.name });
  }

  async #freeze(isFrozen: boolean): Promise<void> {
    await this.#around.guest.control.ask("shares.freeze", { id: this.name, isFrozen });
  }

  async #destroy(): Promise<void> {
    // The machine may have gone, and the share with it.
    await this.#around.guest.control.ask("shares.end", { id: this.name }).catch(() => null);
    this.leave();
    await this.#around.onEnd(this);
  }
}

/** Whether a sandbox's machine is a share. */
export const isShare = (vm: { machine: Machine } | undefined): boolean =>
  vm?.machine instanceof ShareMachine;

/** The agent of a share. Its numbers are those that its machine counts: nobody inside can change them. */
export class ShareGuest extends Guest {
  readonly #id: string;
  readonly #outer: Guest;

  constructor(
    machine: ShareMachine,
    outer: Guest,
    ...life: ConstructorParameters<typeof Guest>[1][]
  ) {
    super(machine, ...life);
    this.#id = machine.name;
    this.#outer = outer;
  }

  override async metrics() {
    const { cpuMs: _cpuMs, ...found } = await this.#outer.control.ask("shares.read", {
      id: this.#id,
    });
    return found;
  }
}
