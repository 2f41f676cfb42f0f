import type { ImageReport } from "@svc/contract/host-protocol/vms.ts";
import type { Ground, ImageKeeper } from "./keeper.ts";

/** Whether an image can be used now, and what to say when it cannot. */
export type Found = { ground: Ground } | { hint: string; percent?: number };

/** The images of this host by name. */
export class Images {
  readonly #keepers: Map<string, ImageKeeper>;
  /** Why this machine runs no machines at all. */
  hint: string | null = null;

  constructor(keepers: Record<string, ImageKeeper>) {
    this.#keepers = new Map(Object.entries(keepers));
  }

  find(name: string): Found | null {
    const keeper = this.#keepers.get(name);
    if (!keeper) return null;
    if (this.hint !== null) return { hint: this.hint };
    const { ground, hint } = keeper;
    if (ground) return { ground };
    const { percent } = keeper.report();
    return { hint, ...(percent !== undefined && { percent }) };
  }

  reports(): ImageReport[] {
    return [...this.#keepers.values()].map((keeper) => keeper.report());
  }
}
