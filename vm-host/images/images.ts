import type { ImageReport } from "@svc/contract/host-protocol/vms.ts";
import type { Bootable, ImageKeeper } from "./keeper.ts";

/** Whether an image can be used now, and what to say when it cannot. `onUse`: it is built since somebody has asked for it. */
export type FoundImage = { bootable: Bootable } | { hint: string; percent?: number; onUse?: true };

/** The images of this host by name. */
export class Images {
  readonly #keepers: Map<string, ImageKeeper>;

  constructor(keepers: Record<string, ImageKeeper>) {
    this.#keepers = new Map(Object.entries(keepers));
  }

  /** What machines can be made of now. */
  get bootables(): Bootable[] {
    const all = [...this.#keepers.values()].map(({ bootable }) => bootable);
    return all.filter((bootable) => bootable !== null);
  }

  /** Finds an image that somebody asks for: an image that is built on first use is built from now on. */
  use(name: string): FoundImage | null {
    this.#keepers.get(name)?.use();
    return this.find(name);
  }

  /** Null where there is no image of this name. */
  find(name: string): FoundImage | null {
    const keeper = this.#keepers.get(name);
    if (!keeper) return null;
    const { bootable, hint } = keeper;
    if (bootable) return { bootable };
    const { percent } = keeper.report();
    const onUse = keeper.isOnUse && ({ onUse: true } as const);
    return { hint, ...(percent !== undefined && { percent }), ...onUse };
  }

  close(): void {
    for (const keeper of this.#keepers.values()) keeper.close();
  }

  reports(): ImageReport[] {
    return [...this.#keepers.values()].map((keeper) => keeper.report());
  }
}
