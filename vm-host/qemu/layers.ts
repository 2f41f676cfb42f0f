import { chmod, copyFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { FILES, type GoldenMachine, type MachineSpec } from "../driver.ts";
import { run } from "../programs.ts";

import { diskBytesOf, writeEmptyLayer } from "./empty-layer.ts";

const GIB = 1024 ** 3;

/** What an empty layer lies over. */
export interface Below {
  file: string;
  format: "raw" | "qcow2";
}

/** Makes an empty layer that begins as what lies below, and is as large unless `diskGb` says another size. */
export async function makeLayer(below: Below, layer: string, diskGb?: number): Promise<void> {
  const work = `${layer}.new`;
  const own = below.format === "raw" ? (await stat(below.file)).size : diskBytesOf(below.file);
  writeEmptyLayer(work, below, diskGb === undefined ? own : diskGb * GIB);
  await rename(work, layer);
}

/** Writes all that the layers from `top` on say over `below` into one new layer. Nobody writes any of them meanwhile. */
export async function flattenLayers(top: string, below: Below, layer: string): Promise<void> {
  const work = `${layer}.new`;
  try {
    await copyFile(top, work);
    await chmod(work, 0o600);
    // `convert -B` would take the top one alone.
    await run("qemu-img", [
      "rebase",
      "-q",
      "-f",
      "qcow2",
      "-F",
      below.format,
      "-b",
      below.file,
      work,
    ]);
    await rename(work, layer);
  } finally {
    await rm(work, { force: true });
  }
}

/** Says of layers, the newest first, what each lies over now: it holds the same as what it lay over where it was made. */
export async function rebaseLayers(layers: string[], bottom: Below): Promise<void> {
  for (const [index, layer] of layers.entries()) {
    const next = layers[index + 1];
    const below: Below = next === undefined ? bottom : { file: next, format: "qcow2" };
    const over = ["-F", below.format, "-b", below.file];
    await run("qemu-img", ["rebase", "-q", "-u", "-f", "qcow2", ...over, layer]);
  }
}

/** Writes what a layer says into the one below it. Until it is removed it says the same, so that this may break off. */
export async function mergeLayer(layer: string): Promise<void> {
  await run("qemu-img", ["commit", "-q", "-d", "-f", "qcow2", layer]);
}

/** What lies below all layers that a machine has made. */
export function belowAll(spec: MachineSpec, golden: GoldenMachine | null): Below {
  return golden
    ? { file: join(golden.folder, FILES.disk), format: "qcow2" }
    : { file: spec.image.disk, format: "raw" };
}
