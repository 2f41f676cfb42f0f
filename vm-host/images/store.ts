import { readFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { guestNodeVersion } from "./guest-node.ts";
import { type Recipe, hashOf } from "./recipe.ts";

/** What lies beside an image. */
export const Manifest = z.object({
  name: z.string(),
  /** The hash that names the image's folder: recipe, kernel and every package's version. */
  image: z.string(),
  recipe: z.string(),
  kernel: z.string(),
  sizeGb: z.number(),
});
export type Manifest = z.infer<typeof Manifest>;

/** A finished image: never written again. */
export interface Image extends Manifest {
  /** The root file system, raw. */
  disk: string;
  vmlinuz: string;
  busybox: string;
  bootModules: string;
}

/** Counts up when the code that builds changes what it builds. */
const BUILDER = 2;

export const imagesIn = (cacheDir: string): string => join(cacheDir, "images");
export const recipeHash = (recipe: Recipe): string => hashOf(BUILDER, guestNodeVersion(), recipe);

/** The image built from exactly this recipe, or null. */
export async function findImage(cacheDir: string, recipe: Recipe): Promise<Image | null> {
  const folder = imagesIn(cacheDir);
  try {
    const text = await readFile(join(folder, `${recipe.name}.json`), "utf8");
    const manifest = Manifest.parse(JSON.parse(text));
    return manifest.recipe === recipeHash(recipe) ? imageOf(folder, manifest) : null;
  } catch {
    return null;
  }
}

export function imageOf(folder: string, manifest: Manifest): Image {
  const own = join(folder, manifest.image);
  return {
    ...manifest,
    disk: join(own, "root.raw"),
    vmlinuz: join(own, "vmlinuz"),
    busybox: join(own, "busybox"),
    bootModules: join(own, "boot"),
  };
}
