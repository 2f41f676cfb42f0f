import { readFile, readdir, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import * as z from "zod";
import { initrdsIn } from "./initrd.ts";
import type { Bootable } from "./keeper.ts";
import { imagesIn } from "./store.ts";

const HOUR_MS = 60 * 60_000;
/** A host says each hour what it uses: what nobody has named for so long nobody uses. */
const UNUSED_MS = 24 * HOUR_MS;
const NAME = /^[0-9a-f]{16}$/;

/** Files that name the images and initrds (`layer`, `agent`) they need: golden machines, records, and the images of today. */
const Note = z.object({
  image: z.union([z.string(), z.object({ image: z.string() })]),
  layer: z.string().optional(),
  agent: z.string().optional(),
});
const NOTES = /(^|\/)(template|record)\.json$/;

/**
 * Removes images and initrds that were replaced, once no golden machine, record or host needs them. Other hosts of this
 * computer use the same folder: each host touches what it uses.
 */
export class CacheSweep {
  readonly #cacheDir: string;
  readonly #log: Log;
  #timer: NodeJS.Timeout | undefined;

  constructor(cacheDir: string, log: Log) {
    this.#cacheDir = cacheDir;
    this.#log = log;
  }

  /** Now, and again each hour; `before` drops what names images that nobody needs. */
  async start(used: () => Bootable[], before: (now: number) => Promise<void>): Promise<void> {
    const once = async (): Promise<void> => {
      await before(Date.now());
      await this.sweep(used(), Date.now());
    };
    const failed = (error: unknown): void =>
      this.#log.warn({ reason: messageOf(error) }, "cache_not_swept");
    this.#timer = setInterval(() => void once().catch(failed), HOUR_MS).unref();
    await once().catch(failed);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async sweep(used: readonly Bootable[], now: number): Promise<void> {
    const images = imagesIn(this.#cacheDir);
    const initrds = initrdsIn(this.#cacheDir);
    const own = used.flatMap(({ image, initrd }) => [join(images, image.image), initrd.file]);
    for (const path of own) await utimes(path, now / 1000, now / 1000).catch(() => null);
    const mine = used.flatMap(({ image, initrd }) => [image.image, initrd.hash]);
    const needed = new Set([...mine, ...(await this.#named())]);
    for (const name of await readdir(images).catch(() => []))
      if (NAME.test(name) && !needed.has(name)) await this.#drop(join(images, name), now);
    // What a build has left that broke off, and that no build has gone on with: each is as large as an image.
    for (const name of await readdir(join(images, "steps")).catch(() => []))
      if (name.startsWith("rootfs-")) await this.#drop(join(images, "steps", name), now);
    for (const name of await readdir(initrds).catch(() => [])) {
      const isNeeded = name.endsWith(".img") && needed.has(name.slice(0, -".img".length));
      if (!isNeeded) await this.#drop(join(initrds, name), now);
    }
  }

  async #drop(path: string, now: number): Promise<void> {
    const found = await stat(path).catch(() => null);
    if (!found || now - found.mtimeMs < UNUSED_MS) return;
    await rm(path, { recursive: true, force: true });
    this.#log.info({ path }, "unused_image_removed");
  }

  /** What is named by what may still be used. */
  async #named(): Promise<string[]> {
    const images = imagesIn(this.#cacheDir);
    const files = (await readdir(images).catch(() => []))
      .filter((name) => name.endsWith(".json"))
      .map((name) => join(images, name));
    for (const name of ["templates", "records"]) {
      const folder = join(this.#cacheDir, name);
      const names = await readdir(folder, { recursive: true }).catch(() => []);
      files.push(...names.filter((name) => NOTES.test(name)).map((name) => join(folder, name)));
    }
    return (await Promise.all(files.map(readNote))).flat();
  }
}

async function readNote(file: string): Promise<string[]> {
  try {
    const { image, layer, agent } = Note.parse(JSON.parse(await readFile(file, "utf8")));
    return [typeof image === "string" ? image : image.image, layer, agent].filter(
      (name) => name !== undefined,
    );
  } catch {
    // Not a note, or gone meanwhile.
    return [];
  }
}
