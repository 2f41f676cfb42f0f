import { ensureKernelPackages, ensureMachinePackages } from "../../../scripts/system-packages.ts";
import { cacheDirOf } from "../../../vm-host/config.ts";
import { buildHindrance, buildImage } from "../../../vm-host/images/build.ts";
import type { Progress } from "../../../vm-host/images/progress.ts";
import { BASE } from "../../../vm-host/images/base.ts";

const STEP_PERCENT = 10;

/** Real machines need packages and an image. CI makes both; elsewhere a missing image is a skip that says so. */
export default async function setup(): Promise<void> {
  if (process.platform !== "linux") return;
  ensureMachinePackages();
  if (!process.env.CI) return;
  ensureKernelPackages();
  const hindrance = await buildHindrance();
  if (hindrance) throw new Error(`CI must have machines. ${hindrance}`);
  let next = 0;
  const show = ({ step, percent }: Progress): void => {
    if (percent < next) return;
    next = percent + STEP_PERCENT;
    console.log(`image ${BASE.name}: ${percent} %, ${step}`);
  };
  await buildImage(cacheDirOf(process.env), BASE, show);
}
