import { BASE } from "./base.ts";
import { DESKTOP } from "./desktop.ts";
import { Images } from "./images.ts";
import { type Bootable, ImageKeeper, type KeeperOptions } from "./keeper.ts";
import { RECIPES_ON_USE } from "./recipes.ts";

/** The images of a host: that of sandboxes, that of desktops, which is looked for after it, and those that are built on first use. */
export interface HostImages {
  base: ImageKeeper;
  desktop: ImageKeeper;
  onUse: ImageKeeper[];
  all: Images;
}

/** Makes the keepers of all images; none looks for its image yet. */
export function hostImages(
  options: Omit<KeeperOptions, "recipe" | "onReady" | "onUse">,
  onReady: Record<"base" | "desktop" | "onUse", (bootable: Bootable) => void>,
): HostImages {
  const base = new ImageKeeper({ ...options, recipe: BASE, onReady: onReady.base });
  const isNext = (): boolean => base.bootable !== null || base.report().state === "building";
  const ofDesktop = { recipe: DESKTOP, onReady: onReady.desktop };
  const desktop = new ImageKeeper({ ...options, ...ofDesktop, isNext });
  let last: Promise<void> = Promise.resolve();
  // One after the other: a build takes a processor for minutes. None rejects.
  const inTurn = (build: () => Promise<void>) => (last = last.then(build));
  const onUse = RECIPES_ON_USE.map((recipe) => {
    const own = { ...options, recipe, onReady: onReady.onUse, onUse: inTurn, isNext };
    return [recipe.name, new ImageKeeper(own)] as const;
  });
  const others = Object.fromEntries(onUse);
  const all = new Images({ [BASE.name]: base, [DESKTOP.name]: desktop, ...others });
  return { base, desktop, onUse: Object.values(others), all };
}
