import type { Builds } from "./builds/builds.ts";
import type { Capability, VmDriver } from "./driver.ts";
import { DESKTOP } from "./images/desktop.ts";
import type { Images } from "./images/images.ts";
import type { Placer } from "./machines/placer.ts";
import type { WarmSets } from "./machines/warm-sets.ts";
import type { Shipper } from "./records/shipper.ts";
import type { SharedMachines } from "./shared/machines.ts";
import type { VmStates } from "./states/states.ts";

/** All that makes machines, saves them and starts them again. */
export interface Machinery {
  driver: VmDriver;
  placer: Placer;
  warm: WarmSets;
  states: VmStates;
  shared: SharedMachines;
  builds: Builds;
  shipper: Shipper;
  /** Desktops can be recorded. */
  canRecord: boolean;
  /** Ends every call to the object store. */
  closing: AbortController;
}

/** What this host can do of what only some hosts can. */
export function capabilitiesOf(
  { machinery }: Pick<Readiness, "machinery">,
  images: Images,
): Set<Capability> {
  if (!machinery) return new Set();
  const image = images.find(DESKTOP.name);
  const hasDesktop = image !== null && "bootable" in image;
  const found = new Set(machinery.driver.capabilities);
  if (hasDesktop) found.add("desktop");
  if (hasDesktop && machinery.canRecord) found.add("recording");
  return found;
}

/** Said of a host while it tries its first machine. */
export const TRYING = "The first machine of this host is being tried.";

/** Whether this host can make machines: not before an image is there and a first machine was tried. */
export class Readiness {
  #machinery: Machinery | null = null;
  #hint: string | null;

  constructor(hint: string | null) {
    this.#hint = hint;
  }

  /** Null until machines can be made. */
  get machinery(): Machinery | null {
    return this.#machinery;
  }

  /** Why no machines can be made, unless an image is all that is missing. */
  get hint(): string | null {
    return this.#hint;
  }

  ready(machinery: Machinery): void {
    this.#machinery = machinery;
    this.#hint = null;
  }

  notReady(hint: string): void {
    this.#hint = hint;
  }
}
