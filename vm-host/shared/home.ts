import { randomBytes } from "node:crypto";
import type { ShareSpec } from "@svc/contract/control-channel/share-methods.ts";
import type { VmPlaced } from "@svc/contract/host-protocol/vms.ts";
import { inTime } from "@svc/host-kit/deadline.ts";
import type { Machine, MachineSpec } from "../driver.ts";
import type { Guest } from "../guest/guest.ts";
import type { Self } from "../guest/identity.ts";
import { type LifeStart, storedLife } from "../life.ts";
import { Vm } from "../machines/vm.ts";
import type { SavedHome, SavedShare } from "../records/record.ts";
import type { Holder } from "./choose.ts";
import { type Around, ShareGuest, ShareMachine } from "./share-machine.ts";

/** How long a share's agent may take to start: Node under emulation, on a busy host. */
const SHARE_ANSWER_MS = 60_000;
/** How long after its streams have closed a process is gone. */
const LAST_BREATH_MS = 5_000;

/** A machine that becomes a home. */
export interface HomeMachine {
  org: string;
  bootKey: string;
  machine: Machine;
  guest: Guest;
  how: VmPlaced["how"];
  /** Of a home that was saved before. */
  id?: string;
}

/** A share in a home: on its way, running as a sandbox's machine, or paused. */
export interface Tenant {
  share: ShareSpec;
  vm: Vm | null;
  paused: SavedShare | null;
  /** Every record of the home holds the share, too, while it runs. */
  isCheckpointed?: boolean;
}

/** Whose a share is, and who it is. */
export interface Owned {
  id: string;
  self: Self;
  life?: LifeStart;
}

/** A machine of one org that holds shares (a home). */
export class Home implements Holder, Around {
  /** Its name from its first start to its end; after a pause the machine is another one. */
  readonly id: string;
  readonly org: string;
  readonly bootKey: string;
  readonly machine: Machine;
  readonly guest: Guest;
  readonly how: VmPlaced["how"];
  /** It takes no more shares once it ends or is paused. */
  isOpen = true;
  readonly tenants = new Map<string, Tenant>();
  readonly #onLeft: (home: Home) => Promise<void>;

  /** `onLeft`: a share has left the home, of its own or by order. */
  constructor(
    { org, bootKey, machine, guest, how, id }: HomeMachine,
    onLeft: (home: Home) => Promise<void>,
  ) {
    this.#onLeft = onLeft;
    this.id = id ?? `home-${randomBytes(6).toString("hex")}`;
    this.org = org;
    this.bootKey = bootKey;
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

  get pausedShares(): SavedShare[] {
    return [...this.tenants.values()].flatMap(({ paused }) => paused ?? []);
  }

  /** No share runs in it, or is on its way. */
  get isIdle(): boolean {
    return this.pausedShares.length === this.tenants.size;
  }

  /** The whole of it as a machine that can be saved. */
  get whole(): Vm {
    const { cpu, memMb } = this.spec;
    const enforcement = { cpu: "vm", memMb: "vm" } as const;
    const { diskGb } = this.machine;
    const got = { cpu, memMb, diskGb, enforcement, how: this.how, acquiredMs: 0 };
    return new Vm(this.id, this.machine, this.guest, { ...got, isolation: "shared" });
  }

  /** What its record says of its shares: of the paused ones, and of these besides. */
  recordWith(others: SavedShare[]): SavedHome {
    const { org, bootKey: ground, pausedShares } = this;
    return { org, ground, shares: [...pausedShares, ...others] };
  }

  /** Promises a share its part of the machine. */
  take(share: ShareSpec, paused: SavedShare | null = null): void {
    this.tenants.set(share.id, { share, paused, vm: null });
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
      this.tenants.set(share.id, { share, vm, paused: null });
      return vm;
    } catch (error) {
      machine.leave();
      throw error;
    }
  }

  /** Lets a share stand still, and says what its sandbox is. Null of a share that is paused already, or on its way. */
  async freeze({ vm, share }: Tenant): Promise<SavedShare | null> {
    if (!vm) return null;
    await vm.machine.stop();
    const { id, guest, use } = vm;
    const life = storedLife(guest.nextLife);
    return { id, share, self: guest.self, life, lastActivityAt: use.lastAt };
  }

  /** Whether the machine is gone. A machine that has just died is silent before it is known to have ended. */
  async hasEnded(): Promise<boolean> {
    const ended = this.machine.exited.then(() => true);
    const answers = this.guest.control.ask("rpc.ping", {}).then(
      () => false,
      async () => (await inTime(ended, LAST_BREATH_MS)) === true,
    );
    return Promise.race([ended, answers]);
  }

  onEnd({ name }: ShareMachine): Promise<void> {
    return this.#gone(name);
  }

  /** Ends a share that does not run: it is paused, or could not be made whole. */
  async drop(id: string): Promise<void> {
    await this.guest.control.ask("shares.end", { id }).catch(() => null);
    await this.#gone(id);
  }

  async #gone(id: string): Promise<void> {
    if (this.tenants.delete(id)) await this.#onLeft(this);
  }
}
