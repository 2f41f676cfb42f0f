import { randomBytes } from "node:crypto";
import type { ShareSpec } from "@svc/contract/control-channel/share-methods.ts";
import type { PlaceVm } from "@svc/contract/host-protocol/vms.ts";
import type { Log } from "@svc/host-kit/log.ts";
import type { MachineSpec } from "../driver.ts";
import { newSelf } from "../guest/identity.ts";
import { ANSWER_MS } from "../maker.ts";
import type { Capacity } from "../sizes.ts";
import { Lanes } from "../snapshots/lanes.ts";
import { Vm } from "../vm.ts";
import { type Placed, type Vms, refuse } from "../vms.ts";
import { type ShareWish, chooseMachine, shareMemory } from "./choose.ts";
import { Home } from "./home.ts";
import { ShareGuest, ShareMachine } from "./share-machine.ts";

/** How long a share's agent may take to start: Node under emulation, on a busy host. */
const SHARE_ANSWER_MS = 60_000;

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
  readonly #parts: PoolParts;
  readonly #homes = new Set<Home>();
  /** Finding or making a machine, for an org one after the other: two first shares make one. */
  readonly #lanes = new Lanes();

  constructor(parts: PoolParts) {
    this.#parts = parts;
  }

  /** Makes a share for a sandbox. A repeat gets what the first got. */
  place(wanted: ShareAsk): Promise<Placed> {
    const { id } = wanted;
    return this.#parts.vms.placeBy(id, async () => {
      try {
        return await this.#place(wanted);
      } catch (error) {
        return this.#parts.vms.unmade(id, error);
      }
    });
  }

  async #place(wanted: ShareAsk): Promise<Placed> {
    const startedAt = Date.now();
    const { vms, hasEgress } = this.#parts;
    const { id, org, ask } = wanted;
    const self = newSelf(ask.envs, hasEgress);
    const { cpu, diskGb } = ask;
    const name = `s${randomBytes(6).toString("hex")}`;
    const memMb = shareMemory(ask.memMb);
    const share: ShareSpec = { id: name, hostname: self.hostname, cpu, memMb, diskGb };
    const found = await this.#lanes.run(org, "find", () => this.#find(wanted, share));
    if (!(found instanceof Home)) return found;
    const how = found.size === 1 ? found.how : "warm";
    try {
      await found.guest.control.ask("shares.make", share);
      const machine = new ShareMachine(share, found);
      const guest = new ShareGuest(machine, found.guest);
      await guest.identify(self, SHARE_ANSWER_MS);
      const enforcement = { cpu: "weight", memMb: "cgroup" } as const;
      const acquiredMs = Date.now() - startedAt;
      const got = { cpu, memMb, diskGb, enforcement, how, acquiredMs };
      const vm = new Vm(id, machine, guest, { ...got, isolation: "shared" });
      vms.add(vm);
      return await vms.placed(vm);
    } catch (error) {
      await found.drop(name);
      throw error;
    }
  }

  /** The machine that takes a share, which has its room there from now on. */
  async #find(wanted: ShareAsk, share: ShareSpec): Promise<Home | Placed> {
    const { org, image, layer } = wanted;
    const ground = `${image.image}+${layer.hash}`;
    const wish: ShareWish = { org, ground, ...share };
    const choice = chooseMachine(
      wish,
      [...this.#homes].filter(({ isOpen }) => isOpen),
    );
    const home =
      "name" in choice
        ? [...this.#homes].find(({ name }) => name === choice.name)
        : await this.#newHome(wanted, { image, layer, ...choice }, ground);
    if (!(home instanceof Home)) return home ?? refuse(503, "NoCapacity", "The machine has gone.");
    home.take(share);
    return home;
  }

  async #newHome({ org }: ShareAsk, spec: MachineSpec, ground: string): Promise<Home | Placed> {
    const { vms, capacity, hasEgress, log } = this.#parts;
    const room = capacity.take(spec);
    if (room === "slots") return refuse(503, "NoCapacity", "Every place on this host is taken.");
    if (room === "size")
      return refuse(507, "InsufficientCapacity", "This size does not fit here right now.");
    try {
      const made = await vms.make(spec);
      const { machine, guest, how } = made;
      void machine.exited.then(() => room());
      const home = new Home({ org, ground, machine, guest, how });
      try {
        if (!hasEgress) await machine.setNetwork(false);
        await guest.identify(newSelf({}, hasEgress), ANSWER_MS[how]);
        await home.grow();
      } catch (error) {
        await machine.destroy();
        throw error;
      }
      this.#homes.add(home);
      void machine.exited.then(() => this.#homes.delete(home));
      log.info({ machine: machine.name }, "a machine for shares was made");
      return home;
    } catch (error) {
      room();
      throw error;
    }
  }
}
