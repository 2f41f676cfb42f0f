import { buildHindrance, buildImage } from "../vm-host/images/build.ts";
import { cacheDirOf } from "../vm-host/config.ts";
import type { Progress } from "../vm-host/images/progress.ts";
import { RECIPES, RECIPES_ON_USE } from "../vm-host/images/recipes.ts";
import { ensureMachinePackages } from "./system-packages.ts";

// `npm run images [-- NAME…]`: builds the images of virtual machines, or finds them built. Without names those that a host
// builds by itself.
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
const names = process.argv.slice(2);
const all = [...RECIPES, ...RECIPES_ON_USE];
const unknown = names.find((name) => !all.some((recipe) => recipe.name === name));
if (unknown !== undefined) {
  console.error(`There is no image ${unknown}, only ${all.map(({ name }) => name).join(", ")}.`);
  process.exit(1);
}
const wanted = names.length > 0 ? all.filter(({ name }) => names.includes(name)) : RECIPES;
ensureMachinePackages();
const hindrance = await buildHindrance();
if (hindrance) {
  console.error(hindrance);
  process.exit(1);
}
for (const recipe of wanted) {
  const startedAt = Date.now();
  const image = await buildImage(cacheDirOf(process.env), recipe, show);
  if (process.stderr.isTTY && shown) console.error();
  const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
  console.log(`${image.name} ${image.image} kernel ${image.kernel} (${seconds} s)`);
}
