import { buildHindrance, buildImage } from "../vm-host/images/build.ts";
import { cacheDirOf } from "../vm-host/config.ts";
import type { Progress } from "../vm-host/images/progress.ts";
import { RECIPES } from "../vm-host/images/recipes.ts";
import { ensureMachinePackages } from "./system-packages.ts";

// `npm run images`: builds the images of virtual machines, or finds them built.
const WIDTH = 30;

function show({ step, percent }: Progress): void {
  const full = Math.round((percent / 100) * WIDTH);
  const bar = "#".repeat(full) + ".".repeat(WIDTH - full);
  const line = `[${bar}] ${String(percent).padStart(3)} %  ${step}`;
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${line}`);
  else if (line !== shown) console.error(line);
  shown = line;
}

let shown = "";
ensureMachinePackages();
const hindrance = await buildHindrance();
if (hindrance) {
  console.error(hindrance);
  process.exit(1);
}
for (const recipe of RECIPES) {
  const startedAt = Date.now();
  const image = await buildImage(cacheDirOf(process.env), recipe, show);
  if (process.stderr.isTTY && shown) console.error();
  const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
  console.log(`${image.name} ${image.image} kernel ${image.kernel} (${seconds} s)`);
}
