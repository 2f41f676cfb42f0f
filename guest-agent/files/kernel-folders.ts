import { join, relative } from "node:path";

/** What the kernel makes up when somebody looks: without end, and of no use to who searches a disk. */
const KERNEL_FOLDERS = ["/proc", "/sys"];

/** The paths below a folder that a walk leaves out. `real` is the folder without links. */
export function kernelFoldersBelow(root: string, real: string): ReadonlySet<string> {
  const below = KERNEL_FOLDERS.filter((folder) =>
    folder.startsWith(real === "/" ? "/" : `${real}/`),
  );
  return new Set(below.map((folder) => join(root, relative(real, folder))));
}
