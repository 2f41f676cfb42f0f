import { lookup } from "node:dns/promises";
import type { AllowedTarget } from "@svc/host-kit/egress/allowance.ts";
import type { Confinement } from "../qemu/confinement.ts";
import { type AllowedAddress, applyRules, removeRules, resolvers, rulesOf } from "./rules.ts";

const REFRESH_MS = 60_000;

/** The way out of all machines of one run. Closed where no rules can be set: then machines have none. */
export class Egress {
  readonly #table: string;
  readonly #confinement: Confinement;
  readonly #targets: AllowedTarget[];
  #timer: NodeJS.Timeout | null = null;
  #rules = "";

  private constructor(table: string, confinement: Confinement, targets: AllowedTarget[]) {
    this.#table = table;
    this.#confinement = confinement;
    this.#targets = targets;
  }

  /** Null where this process may set no rules. */
  static async open(
    table: string,
    confinement: Confinement | null,
    targets: AllowedTarget[],
  ): Promise<Egress | null> {
    if (!confinement) return null;
    const egress = new Egress(table, confinement, targets);
    if (!(await egress.#refresh())) return null;
    // Resolvers change with the network, names of the list with their records.
    egress.#timer = setInterval(() => void egress.#refresh(), REFRESH_MS).unref();
    return egress;
  }

  async close(): Promise<void> {
    if (this.#timer) clearInterval(this.#timer);
    await removeRules(this.#table);
  }

  async #refresh(): Promise<boolean> {
    const allowed = (await Promise.all(this.#targets.map(addressesOf))).flat();
    const rules = rulesOf(this.#table, this.#confinement, await resolvers(), allowed);
    if (rules === this.#rules) return true;
    const isSet = await applyRules(rules);
    if (isSet) this.#rules = rules;
    return isSet;
  }
}

async function addressesOf({ host, port }: AllowedTarget): Promise<AllowedAddress[]> {
  const found = await lookup(host, { all: true, family: 4 }).catch(() => []);
  return found.map(({ address }) => ({ address, port }));
}
