import { mkdir, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * Who needs a golden machine: machines that came from it, and records that differ from it. A hold is a small file beside the
 * golden machine that names a path; it counts while that path is there. So other hosts of the same folder see it, and what a killed
 * host held is free as soon as its folders are tidied up.
 */
export class Holds {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Holds a golden machine for as long as something is at this path. */
  async hold(key: string, name: string, path: string): Promise<void> {
    const folder = this.#of(key);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeFile(join(folder, name), path, { mode: 0o600 });
  }

  async drop(key: string, name: string): Promise<void> {
    await rm(join(this.#of(key), name), { force: true });
  }

  /** Whether a machine or record needs it. Forgets holders that are gone. */
  async areOn(key: string): Promise<boolean> {
    const folder = this.#of(key);
    let isHeld = false;
    for (const name of await readdir(folder).catch(() => [])) {
      const path = await readFile(join(folder, name), "utf8").catch(() => "");
      const isThere = await stat(path).then(
        () => true,
        () => false,
      );
      if (isThere) isHeld = true;
      else await this.drop(key, name);
    }
    return isHeld;
  }

  #of(key: string): string {
    return join(this.#folder, `${key}.held`);
  }
}
