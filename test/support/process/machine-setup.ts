import {
  ensureExamplePackages,
  ensureKernelPackages,
  ensureMachinePackages,
} from "../../../scripts/system-packages.ts";
import { cacheDirOf } from "../../../vm-host/config.ts";
import { buildHindrance, buildImage } from "../../../vm-host/images/build.ts";
import type { Progress } from "../../../vm-host/images/progress.ts";
import type { Recipe } from "../../../vm-host/images/recipe.ts";
import { RECIPES } from "../../../vm-host/images/recipes.ts";

const STEP_PERCENT = 10;

/** Real machines need packages and images. CI makes all; elsewhere a missing image is a skip that says so. */
export default async function setup(): Promise<void> {
  if (process.platform !== "linux") return;
  ensureMachinePackages();
  if (!process.env.CI) return;
  ensureKernelPackages();
  ensureExamplePackages();
  const hindrance = await buildHindrance();
  if (hindrance) throw new Error(`CI must have machines. ${hindrance}`);
  // Side by side: each waits for the network and the disk most of the time.
  await Promise.all(RECIPES.map((recipe) => build(recipe)));
}

async function build(recipe: Recipe): Promise<void> {
  let next = 0;
  const show = ({ step, percent }: Progress): void => {
    if (percent < next) return;
    next = percent + STEP_PERCENT;
    console.log(`image ${recipe.name}: ${percent} %, ${step}`);
  };
  await buildImage(cacheDirOf(process.env), recipe, show);
}
