import { BASE } from "./base.ts";
import { DESKTOP } from "./desktop.ts";
import { Images } from "./images.ts";
import { type Bootable, ImageKeeper, type KeeperOptions } from "./keeper.ts";

/** The images of a host: that of sandboxes, and that of desktops, which is looked for after it. */
export interface HostImages {
  base: ImageKeeper;
  desktop: ImageKeeper;
  all: Images;
}

/** Makes the keepers of all images; none looks for its image yet. */
export function hostImages(
  options: Omit<KeeperOptions, "recipe" | "onReady">,
  onReady: Record<"base" | "desktop", (bootable: Bootable) => void>,
): HostImages {
  const base = new ImageKeeper({ ...options, recipe: BASE, onReady: onReady.base });
  const desktop = new ImageKeeper({ ...options, recipe: DESKTOP, onReady: onReady.desktop });
  return { base, desktop, all: new Images({ [BASE.name]: base, [DESKTOP.name]: desktop }) };
}
