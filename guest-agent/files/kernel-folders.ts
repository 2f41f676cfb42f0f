import { join, relative } from "node:path";

/** Folders whose files the kernel makes up as they are read: endless, and never part of a disk. */
const KERNEL_FOLDERS = ["/proc", "/sys"];

/** The paths below a folder that a walk leaves out. `real` is the folder without links. */
export function kernelFoldersBelow(root: string, real: string): ReadonlySet<string> {
  const below = KERNEL_FOLDERS.filter((folder) =>
    folder.startsWith(real === "/" ? "/" : `${real}/`),
  );
  return new Set(below.map((folder) => join(root, relative(real, folder))));
}

/** Whether a path without links names a file of the kernel. */
export function isOfKernel(real: string): boolean {
  return KERNEL_FOLDERS.some((folder) => real.startsWith(`${folder}/`));
}
