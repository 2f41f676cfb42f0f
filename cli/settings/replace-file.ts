import { open, rename, rm } from "node:fs/promises";

/** Writes a file whole or not at all: a reader meanwhile finds the old one. */
export async function replaceFile(path: string, text: string, mode: number): Promise<void> {
  const made = `${path}.${process.pid}.new`;
  try {
    const file = await open(made, "wx", mode);
    try {
      // The umask must not change the mode.
      await file.chmod(mode);
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(made, path);
  } catch (error) {
    await rm(made, { force: true });
    throw error;
  }
}
