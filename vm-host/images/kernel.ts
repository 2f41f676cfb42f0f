import { copyFile, mkdir, readFile, readdir, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { run } from "../programs.ts";
import { kernelPackage, unpack } from "./apt.ts";
import { BOOT_MODULES } from "./recipe.ts";

/** A folder with `vmlinuz`, `busybox`, the modules of the boot in `boot/` and all others in `lib/`. */
export interface Kernel {
  folder: string;
  /** `6.1.0-56-cloud-amd64` */
  version: string;
}

/** Unpacks the kernel and busybox into `folder`, which must not exist. */
export async function makeKernel(folder: string): Promise<Kernel> {
  const packageName = await kernelPackage();
  const version = packageName.replace("linux-image-", "");
  const work = `${folder}.tmp`;
  await rm(work, { recursive: true, force: true });
  await mkdir(join(work, "debs"), { recursive: true });
  const tree = join(work, "tree");
  await unpack([packageName, "busybox-static"], tree, join(work, "debs"));
  const out = join(work, "out");
  await mkdir(join(out, "boot"), { recursive: true });
  await copyFile(join(tree, "boot", `vmlinuz-${version}`), join(out, "vmlinuz"));
  await copyFile(join(tree, "bin/busybox"), join(out, "busybox"));
  const modules = join(tree, "lib/modules", version);
  await copyBootModules(modules, join(out, "boot"));
  await rename(modules, join(out, "lib"));
  await rename(out, folder);
  await rm(work, { recursive: true });
  return { folder, version };
}

// Numbered, so that the boot loads them in the order of their needs.
async function copyBootModules(modules: string, folder: string): Promise<void> {
  const files = await readdir(modules, { recursive: true });
  for (const [index, name] of BOOT_MODULES.entries()) {
    const file = files.find((path) => basename(path) === `${name}.ko`);
    if (!file) throw new Error(`the kernel has no module ${name}`);
    const place = `${String(index).padStart(2, "0")}-${name}.ko`;
    await copyFile(join(modules, file), join(folder, place));
  }
}

/** Puts the wanted modules, and those they need, into a root file system. */
export async function installModules(
  { folder, version }: Kernel,
  wanted: string[],
  root: string,
): Promise<void> {
  const target = join(root, "lib/modules", version);
  await mkdir(target, { recursive: true });
  await run("cp", ["-a", `${join(folder, "lib")}/.`, target]);
  await run("chroot", [root, "depmod", version]);
  const needs = parseNeeds(await readFile(join(target, "modules.dep"), "utf8"));
  const keep = new Set([...needs.keys()].filter((path) => wanted.includes(moduleName(path))));
  for (const path of keep) for (const need of needs.get(path) ?? []) keep.add(need);
  for (const path of needs.keys()) if (!keep.has(path)) await rm(join(target, path));
  await run("find", [join(target, "kernel"), "-type", "d", "-empty", "-delete"]);
  await run("chroot", [root, "depmod", version]);
}

const moduleName = (path: string): string => basename(path).replace(/\.ko$/, "");

/** `a.ko: b.ko c.ko` lines as a map. */
function parseNeeds(text: string): Map<string, string[]> {
  const lines = text.split("\n").filter((line) => line.includes(":"));
  return new Map(
    lines.map((line) => {
      const [path = "", needs = ""] = line.split(":");
      return [path, needs.split(" ").filter(Boolean)];
    }),
  );
}
