import { chmod, cp, mkdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run } from "../programs.ts";
import { kernelPackage } from "./apt.ts";
import { type Kernel, makeKernel } from "./kernel.ts";
import { waitForLock } from "@svc/host-kit/lock.ts";
import { type Progress, ProgressFile } from "./progress.ts";
import { type Recipe, hashOf } from "./recipe.ts";
import { makeRootfs, packagesOf } from "./rootfs.ts";
import { type Image, type Manifest, findImage, imageOf, imagesIn, recipeHash } from "./store.ts";

const LOCK_POLL_MS = 500;

/** Why this machine cannot build images, as one line with the fix; null when it can. */
export async function buildHindrance(): Promise<string | null> {
  if (process.platform !== "linux") return "Images are built on Linux.";
  if (process.arch !== "x64") return `Images are built on x86-64; this is ${process.arch}.`;
  if (process.getuid?.() !== 0) return "Images are built by root: sudo npm run images.";
  const needed = ["mmdebstrap", "mke2fs", "dpkg-deb", "apt-get", "chroot", "tar"];
  const found = await Promise.all(needed.map((name) => run("which", [name]).catch(() => null)));
  const missing = needed.filter((_name, index) => found[index] === null);
  if (missing.length === 0) return null;
  return `Missing to build images: ${missing.join(", ")} (apt-get install mmdebstrap e2fsprogs).`;
}

/**
 * Builds an image, or finds it built. Finished steps are kept by the hash of what went in, so that a
 * build that broke off goes on; what is half done ends in `.tmp` and is thrown away.
 */
export async function buildImage(
  cacheDir: string,
  recipe: Recipe,
  onProgress: (progress: Progress) => void = () => {},
): Promise<Image> {
  const folder = imagesIn(cacheDir);
  await mkdir(folder, { recursive: true, mode: 0o755 });
  using _lock = await waitForLock(join(folder, `${recipe.name}.lock`), LOCK_POLL_MS);
  const found = await findImage(cacheDir, recipe);
  if (found) return found;
  const progress = new ProgressFile(folder, recipe.name, onProgress);
  try {
    const image = await build(folder, recipe, progress);
    await progress.flush();
    await rm(join(folder, `${recipe.name}.progress.json`), { force: true });
    return image;
  } catch (error) {
    progress.set("failed", 0, error instanceof Error ? error.message.slice(-400) : String(error));
    throw error;
  } finally {
    await progress.flush();
  }
}

async function build(folder: string, recipe: Recipe, progress: ProgressFile): Promise<Image> {
  const steps = join(folder, "steps");
  await mkdir(steps, { recursive: true });
  progress.set("kernel", 0);
  const kernel = await kernelStep(steps);
  progress.set("packages", 5);
  const root = join(steps, `rootfs-${hashOf(recipeHash(recipe), kernel.version)}`);
  const onRootfs = (done: number): void => progress.set("packages", 5 + 80 * done);
  if (!(await exists(root))) await makeRootfs(recipe, kernel, root, onRootfs);
  progress.set("disk", 85);
  const manifest = await diskStep(folder, recipe, kernel, root);
  await writeFile(join(folder, `${recipe.name}.json.new`), JSON.stringify(manifest, null, 2));
  await rename(join(folder, `${recipe.name}.json.new`), join(folder, `${recipe.name}.json`));
  await run("rm", ["-rf", "--one-file-system", root]);
  progress.set("ready", 100);
  return imageOf(folder, manifest);
}

async function kernelStep(steps: string): Promise<Kernel> {
  const name = await kernelPackage();
  const folder = join(steps, `kernel-${hashOf(name)}`);
  if (await exists(folder)) return { folder, version: name.replace("linux-image-", "") };
  return makeKernel(folder);
}

/** Makes the folder of the image, named by everything that is in it. */
async function diskStep(
  folder: string,
  recipe: Recipe,
  kernel: Kernel,
  root: string,
): Promise<Manifest> {
  const packages = await packagesOf(root);
  const image = hashOf(recipeHash(recipe), kernel.version, packages);
  const { name, sizeGb } = recipe;
  const manifest = { name, image, recipe: recipeHash(recipe), kernel: kernel.version, sizeGb };
  const done = join(folder, image);
  if (await exists(done)) return manifest;
  const work = `${done}.tmp`;
  await rm(work, { recursive: true, force: true });
  await mkdir(work);
  const disk = join(work, "root.raw");
  const layout = ["-L", "root", "-m", "0", "-E", "lazy_itable_init=1,lazy_journal_init=1"];
  await run("mke2fs", ["-q", "-t", "ext4", "-d", root, ...layout, disk, `${sizeGb}G`]);
  for (const part of ["vmlinuz", "busybox", "boot"])
    await cp(join(kernel.folder, part), join(work, part), { recursive: true });
  await writeFile(join(work, "packages.txt"), packages);
  await writeFile(join(work, "manifest.json"), JSON.stringify(manifest, null, 2));
  await chmod(disk, 0o444);
  await rename(work, done);
  return manifest;
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
