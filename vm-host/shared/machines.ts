import { randomBytes } from "node:crypto";
import type { ShareSpec } from "@svc/contract/control-channel/share-methods.ts";
import type { PlaceVm } from "@svc/contract/host-protocol/vms.ts";
import type { Log } from "@svc/host-kit/log.ts";
import type { MachineSpec } from "../driver.ts";
import { newSelf } from "../guest/identity.ts";
import { ANSWER_MS } from "../machines/maker.ts";
import type { Capacity } from "../machines/capacity.ts";
import { Lanes } from "../lanes.ts";
import { noRoom } from "../states/start-from-record.ts";
import { StateError } from "../states/state-error.ts";
import { type Placed, type Vms, refuse } from "../machines/vms.ts";
import { type ShareWish, chooseMachine, shareMemory } from "./choose.ts";
import { Home, type HomeParts } from "./home.ts";

export interface PoolParts {
  vms: Vms;
  capacity: Capacity;
  /** Machines have a way out that is filtered; without one they have none. */
  hasEgress: boolean;
  log: Log;
}

/** A share as it is asked for. */
export interface ShareAsk extends Omit<MachineSpec, "cpu" | "memMb"> {
  id: string;
  org: string;
  ask: PlaceVm;
}

/** The machines that hold shares, each of one org: made with the first share and ended after the last. */
export class SharedPool {
  readonly homes = new Set<Home>();
  /** A machine has no share left, or none that runs. */
  onIdle: (home: Home) => Promise<void> = (home) => this.end(home);
  readonly #parts: PoolParts;
  /** Finding or making a machine, for an org one after the other: two first shares make one. */
  readonly #lanes = new Lanes();

  constructor(parts: PoolParts) {
    this.#parts = parts;
  }

  /** Makes a share for a sandbox. A repeat gets what the first got. */
  place(wanted: ShareAsk): Promise<Placed> {
    const { id } = wanted;
    const { vms } = this.#parts;
    return vms.placeBy(id, async () => {
      try {
        return await this.#place(wanted);
      } catch (error) {
        if (error instanceof StateError && (error.status === 503 || error.status === 507))
          return refuse(error.status, placeCode(error.status), error.message);
        return vms.unmade(id, error);
      }
    });
  }

  /** A machine for shares joins the others, in room that was taken. */
  async open(
    { cpu, memMb }: Pick<MachineSpec, "cpu" | "memMb">,
    make: () => Promise<HomeParts>,
  ): Promise<Home> {
    const room = this.#parts.capacity.take({ cpu, memMb });
    if (typeof room === "string") throw noRoom(room);
    try {
      const home = new Home(await make());
      const { machine } = home;
      home.onLeft = async () => {
        if (home.isOpen && home.resting.length === home.tenants.size) await this.onIdle(home);
      };
      this.homes.add(home);
      void machine.exited.then(() => {
        room();
        this.homes.delete(home);
      });
      this.#parts.log.info({ machine: machine.name }, "a machine for shares is there");
      return home;
    } catch (error) {
      room();
      throw error;
    }
  }

  /** Ends a machine in which nothing runs. */
  async end(home: Home): Promise<void> {
    home.isOpen = false;
    this.homes.delete(home);
    await home.machine.destroy();
  }

  async #place(wanted: ShareAsk): Promise<Placed> {
    const startedAt = performance.now();
    const { vms, hasEgress } = this.#parts;
    const { id, org, ask } = wanted;
    const self = newSelf(ask.envs, hasEgress);
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
      this.#parts.log.warn({ how, console }, "a share did not take its identity");
      await home.drop(name);
      throw error;
    }
  }

  /** The machine that takes a share, which has its room there from now on. */
  async #find(wanted: ShareAsk, share: ShareSpec): Promise<Home> {
    const { org, image, layer } = wanted;
    const ground = `${image.image}+${layer.hash}`;
    const wish: ShareWish = { org, ground, ...share };
    const open = [...this.homes].filter(({ isOpen }) => isOpen);
    const choice = chooseMachine(wish, open);
    const found = "name" in choice ? open.find(({ name }) => name === choice.name) : undefined;
    if (found) {
      found.take(share);
      return found;
    }
    const spec = { image, layer, cpu: share.cpu, memMb: share.memMb, ...choice };
    const home = await this.open(spec, () => this.#make(spec, { org, ground }));
    home.take(share);
    return home;
  }

  async #make(spec: MachineSpec, whose: { org: string; ground: string }): Promise<HomeParts> {
    const { vms, hasEgress } = this.#parts;
    const made = await vms.make(spec);
    const { machine, guest, how } = made;
    try {
      if (!hasEgress) await machine.setNetwork(false);
      await guest.identify(newSelf({}, hasEgress), ANSWER_MS[how]);
      await new Home({ ...whose, ...made }).grow();
      return { ...whose, ...made };
    } catch (error) {
      await machine.destroy();
      throw error;
    }
  }
}

const placeCode = (status: 503 | 507) => (status === 507 ? "InsufficientCapacity" : "NoCapacity");
