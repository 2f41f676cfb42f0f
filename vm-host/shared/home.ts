import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { ShareSpec } from "@svc/contract/control-channel/share-methods.ts";
import type { VmPlaced } from "@svc/contract/host-protocol/vms.ts";
import type { LifeStart, Machine, MachineSpec } from "../driver.ts";
import type { Guest } from "../guest/guest.ts";
import type { Self } from "../guest/identity.ts";
import type { RestingHome, RestingShare } from "../snapshots/record.ts";
import { Vm } from "../machines/vm.ts";
import { type Holder, SHARED_DISK_GB } from "./choose.ts";
import { type Around, ShareGuest, ShareMachine } from "./share-machine.ts";

/** How long a share's agent may take to start: Node under emulation, on a busy host. */
const SHARE_ANSWER_MS = 60_000;
/** How long after its streams have closed a process is gone. */
const LAST_BREATH_MS = 5_000;

export interface HomeParts {
  org: string;
  ground: string;
  machine: Machine;
  guest: Guest;
  how: VmPlaced["how"];
  /** Of one that rested. */
  id?: string;
}

/** A share in a machine: on its way, running as a sandbox's machine, or at rest. */
export interface Tenant {
  share: ShareSpec;
  vm: Vm | null;
  rest: RestingShare | null;
  /** Every record of its machine holds it, too, while it runs. */
  isCheckpointed?: boolean;
}

/** Whose a share is, and who it is. */
export interface Owned {
  id: string;
  self: Self;
  life?: LifeStart;
}

/** A machine of one org that holds shares. */
export class Home implements Holder, Around {
  /** Its name from its first start to its end; its machine may be another one after a rest. */
  readonly id: string;
  readonly org: string;
  readonly ground: string;
  readonly machine: Machine;
  readonly guest: Guest;
  readonly how: VmPlaced["how"];
  /** It takes no more shares once it ends or goes to rest. */
  isOpen = true;
  /** A share has left it, of its own or by order. */
  onLeft: (home: Home) => Promise<void> = async () => {};
  readonly tenants = new Map<string, Tenant>();

  constructor({ org, ground, machine, guest, how, id }: HomeParts) {
    this.id = id ?? `home-${randomBytes(6).toString("hex")}`;
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
    return [...this.tenants.values()].map(({ share }) => share);
  }

  /** Shares at rest, and whether there are no others. */
  get resting(): RestingShare[] {
    return [...this.tenants.values()].flatMap(({ rest }) => (rest ? [rest] : []));
  }

  /** The whole of it as a machine that can be saved. */
  get whole(): Vm {
    const { cpu, memMb } = this.spec;
    const enforcement = { cpu: "vm", memMb: "vm" } as const;
    const { diskGb } = this.machine;
    const got = { cpu, memMb, diskGb, enforcement, how: this.how, acquiredMs: 0 };
    return new Vm(this.id, this.machine, this.guest, { ...got, isolation: "shared" });
  }

  /** What its record says of its shares: of those that rest, and of these besides. */
  recordWith(others: RestingShare[]): RestingHome {
    const { org, ground, resting } = this;
    return { org, ground, shares: [...resting, ...others] };
  }

  /** Makes room for the disks of shares. */
  async grow(): Promise<void> {
    await this.machine.growDisk(SHARED_DISK_GB);
    const { exitCode, stderr } = await this.guest.exec({ cmd: "resize2fs", args: ["/dev/vda"] });
    if (exitCode !== 0) throw new Error(`the disk did not grow: ${stderr}`);
  }

  /** Promises room to a share. */
  take(share: ShareSpec, rest: RestingShare | null = null): void {
    this.tenants.set(share.id, { share, rest, vm: null });
  }

  /** A share's agent answers as its sandbox's machine from now on. */
  async wake(share: ShareSpec, { id, self, life }: Owned, how: VmPlaced["how"]): Promise<Vm> {
    const startedAt = performance.now();
    const machine = new ShareMachine(share, this);
    try {
      const guest = new ShareGuest(machine, this.guest, ...(life ? [life] : []));
      await guest.identify(self, SHARE_ANSWER_MS, life !== undefined);
      const { cpu, memMb, diskGb } = share;
      const enforcement = { cpu: "weight", memMb: "cgroup" } as const;
      const acquiredMs = performance.now() - startedAt;
      const got = { cpu, memMb, diskGb, enforcement, how, acquiredMs };
      const vm = new Vm(id, machine, guest, { ...got, isolation: "shared" });
      this.tenants.set(share.id, { share, vm, rest: null });
      return vm;
    } catch (error) {
      machine.leave();
      throw error;
    }
  }

  /** Lets a share stand still, and says what its sandbox is. Null of one that does so already, or is on its way. */
  async still({ vm, share }: Tenant): Promise<RestingShare | null> {
    if (!vm) return null;
    await vm.machine.stop();
    const { word, generation } = vm.guest.nextLife;
    const life = { word: Buffer.from(word).toString("hex"), generation };
    const { self } = vm.guest;
    return { id: vm.id, share, self, life, lastActivityAt: vm.lastActivityAt };
  }

  /** Whether its machine is gone. One that has just died may be known by its silence before. */
  async hasEnded(): Promise<boolean> {
    const ended = this.machine.exited.then(() => true);
    const answers = this.guest.control.ask("rpc.ping", {}).then(
      () => false,
      () => Promise.race([ended, pause(LAST_BREATH_MS, false, { ref: false })]),
    );
    return Promise.race([ended, answers]);
  }

  onEnd({ name }: ShareMachine): Promise<void> {
    return this.#gone(name);
  }

  /** Ends a share that nobody runs: one that could not be made whole, or one at rest. */
  async drop(id: string): Promise<void> {
    await this.guest.control.ask("shares.end", { id }).catch(() => null);
    await this.#gone(id);
  }

  async #gone(id: string): Promise<void> {
    if (this.tenants.delete(id)) await this.onLeft(this);
  }
}
