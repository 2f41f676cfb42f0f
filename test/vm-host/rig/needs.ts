import { findImage } from "../../../vm-host/images/store.ts";
import { BASE } from "../../../vm-host/images/base.ts";
import { DESKTOP } from "../../../vm-host/images/desktop.ts";
import type { Recipe } from "../../../vm-host/images/recipe.ts";
import { cacheDirOf } from "../../../vm-host/config.ts";
import { qemuVersion } from "../../../vm-host/qemu/platform.ts";

/**
 * Why no real machine can run here, or nothing: `describe.skipIf(await missingMachine())`. In CI it throws instead, so
 * that a missing image never passes as a skip.
 */
export async function missingMachine(recipe: Recipe = BASE): Promise<string | undefined> {
  const reason = await find(recipe);
  if (reason === undefined) return undefined;
  if (process.env.CI) throw new Error(`CI must have machines. ${reason}`);
  console.log(`machines are not tested: ${reason}`);
  return reason;
}

/** The same for desktops. */
export const missingDesktop = (): Promise<string | undefined> => missingMachine(DESKTOP);

async function find(recipe: Recipe): Promise<string | undefined> {
  if ((await qemuVersion()) === null) return "there is no qemu-system-x86_64";
  const image = await findImage(cacheDirOf(process.env), recipe);
  return image ? undefined : `there is no image ${recipe.name}: npm run images`;
}
