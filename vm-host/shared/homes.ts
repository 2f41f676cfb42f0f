import { Lanes } from "../lanes.ts";
import type { Vm } from "../machines/vm.ts";
import { StateError } from "../machines/state-error.ts";
import type { Home, Tenant } from "./home.ts";

/** The homes of this host that run. */
export class Homes {
  readonly all = new Set<Home>();
  /** Of changes to a home, by its id. */
  readonly lanes = new Lanes();

  get(id: string): Home | undefined {
    return [...this.all].find((home) => home.id === id);
  }

  /** A home that takes shares. */
  getOpen(id: string): Home | undefined {
    const home = this.get(id);
    return home?.isOpen ? home : undefined;
  }

  /** The home of a share that runs. */
  tenantOf(vm: Vm): { home: Home; tenant: Tenant } {
    for (const home of this.all)
      for (const tenant of home.tenants.values()) if (tenant.vm === vm) return { home, tenant };
    throw new StateError(404, "NotRunning", "There is no such machine here.");
  }
}
