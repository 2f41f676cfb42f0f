import { rename, rm } from "node:fs/promises";
import { run } from "../programs.ts";

const GIB = 1024 ** 3;

/** What an empty layer lies over. */
export interface Below {
  file: string;
  format: "raw" | "qcow2";
}

/** Makes an empty layer that begins as what lies below. `diskGb` where that one is in use and cannot be asked. */
export async function makeLayer(below: Below, layer: string, diskGb?: number): Promise<void> {
  const work = `${layer}.new`;
  const base = ["-F", below.format, "-b", below.file];
  const size = diskGb === undefined ? [] : [String(diskGb * GIB)];
  const unasked = diskGb === undefined ? [] : ["-u"];
  await run("qemu-img", ["create", "-q", "-f", "qcow2", ...base, ...unasked, work, ...size]);
  await rename(work, layer);
}

/** Writes all that the layers say over `below` into one new layer. None of them is in use for writing. */
export async function flattenLayers(top: string, below: Below, layer: string): Promise<void> {
  const work = `${layer}.new`;
  try {
    const base = ["-F", below.format, "-B", below.file];
    await run("qemu-img", [
      "convert",
      "-q",
      "-U",
      "-f",
      "qcow2",
      "-O",
      "qcow2",
      ...base,
      top,
      work,
    ]);
    await rename(work, layer);
  } finally {
    await rm(work, { force: true });
  }
}
