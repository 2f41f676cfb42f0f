import { randomBytes } from "node:crypto";
import type { ShareSpec } from "@svc/contract/control-channel/share-methods.ts";
import type { PlaceVm } from "@svc/contract/host-protocol/vms.ts";
import type { Log } from "@svc/host-kit/log.ts";
import type { MachineSpec } from "../driver.ts";
import { newSelf } from "../guest/identity.ts";
import { Lanes } from "../lanes.ts";
import type { Capacity } from "../machines/capacity.ts";
import { growDisk } from "../machines/grow-disk.ts";
import { ANSWER_MS } from "../machines/maker.ts";
import type { Placer } from "../machines/placer.ts";
import type { Placed, Vms } from "../machines/vms.ts";
import { SHARED_DISK_GB, type ShareWish, chooseMachine, shareMemory } from "./choose.ts";
import { Home, type HomeMachine } from "./home.ts";
import type { Homes } from "./homes.ts";

export interface SharedMachinesParts {
  homes: Homes;
  vms: Vms;
  placer: Placer;
  capacity: Capacity;
  /** Machines have a way out that is filtered; without a filter they have no network. */
  hasEgress: boolean;
  log: Log;
}

/** A share as it is asked for. */
export interface ShareAsk extends Omit<MachineSpec, "cpu" | "memMb"> {
  id: string;
  org: string;
  ask: PlaceVm;
}

/** Makes shares, and the homes that hold them: a home is made with its first share and ended after its last. */
export class SharedMachines {
  readonly #parts: SharedMachinesParts;
  /** Finding or making a home, one after the other for each org: two first shares make one home. */
  readonly #lanes = new Lanes();

  constructor(parts: SharedMachinesParts) {
    this.#parts = parts;
  }

  /** Makes a share for a sandbox. A repeat gets what the first got. */
  place(wanted: ShareAsk): Promise<Placed> {
    const { vms } = this.#parts;
    return vms.place(wanted.id, () =>
      this.#place(wanted).catch((error: unknown) => vms.unmade(error)),
    );
  }

  /** Makes a home, for which capacity is taken. */
  async open(
    size: Pick<MachineSpec, "cpu" | "memMb">,
    make: () => Promise<HomeMachine>,
  ): Promise<Home> {
    const { capacity, homes, log } = this.#parts;
    const giveBack = capacity.claim(size);
    try {
      const home = new Home(await make(), async (left) => {
        if (left.isOpen && left.isIdle) await this.end(left);
      });
      const { machine } = home;
      homes.all.add(home);
      void machine.exited.then(() => {
        giveBack();
        homes.all.delete(home);
      });
      log.info({ machine: machine.name }, "home_opened");
      return home;
    } catch (error) {
      giveBack();
      throw error;
    }
  }

  /** Ends a home in which nothing runs. */
  async end(home: Home): Promise<void> {
    home.isOpen = false;
    this.#parts.homes.all.delete(home);
    await home.machine.destroy();
  }

  async #place(wanted: ShareAsk): Promise<Placed> {
    const startedAt = performance.now();
    const { vms, hasEgress } = this.#parts;
    const { id, org, ask } = wanted;
    const self = newSelf({ envs: ask.envs, hasNetwork: hasEgress });
    const { cpu, diskGb } = ask;
    const name = `s${randomBytes(6).toString("hex")}`;
    const memMb = shareMemory(ask.memMb);
    const share: ShareSpec = { id: name, hostname: self.hostname, cpu, memMb, diskGb };
    const home = await this.#lanes.run(org, "find", () => this.#find(wanted, share));
    const how = home.tenants.size === 1 ? home.how : "warm";
    try {
      await home.guest.control.ask("shares.make", share);
      const vm = await home.wake(share, { id, self }, how);
      vm.org = org;
      vm.placed.acquiredMs = performance.now() - startedAt;
      vms.add(vm);
      return await vms.placed(vm);
    } catch (error) {
      const console = (await home.machine.console()).slice(-1_000);
      this.#parts.log.warn({ how, console }, "share_not_identified");
      await home.drop(name);
      throw error;
    }
  }

  /** The home that takes a share, which is promised its part from now on. */
  async #find(wanted: ShareAsk, share: ShareSpec): Promise<Home> {
    const { org, image, initrd } = wanted;
    const bootKey = `${image.image}+${initrd.hash}`;
    const wish: ShareWish = { org, bootKey, ...share };
    const open = [...this.#parts.homes.all].filter(({ isOpen }) => isOpen);
    const choice = chooseMachine(wish, open);
    const found = "name" in choice ? open.find(({ name }) => name === choice.name) : undefined;
    if (found) {
      found.take(share);
      return found;
    }
    const spec = { image, initrd, cpu: share.cpu, memMb: share.memMb, ...choice };
    const home = await this.open(spec, () => this.#make(spec, { org, bootKey }));
    home.take(share);
    return home;
  }

  async #make(spec: MachineSpec, whose: { org: string; bootKey: string }): Promise<HomeMachine> {
    const { placer, hasEgress } = this.#parts;
    const made = await placer.make(spec);
    const { machine, guest, how } = made;
    try {
      if (!hasEgress) await machine.setNetwork(false);
      await guest.identify(newSelf({ envs: {}, hasNetwork: hasEgress }), ANSWER_MS[how]);
      await growDisk(made, SHARED_DISK_GB);
      return { ...whose, ...made };
    } catch (error) {
      await machine.destroy();
      throw error;
    }
  }
}
