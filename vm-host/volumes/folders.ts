import {
  chmod,
  chown,
  mkdir,
  open,
  readFile,
  readdir,
  rename,
  rm,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import type { VolumeManifest } from "@svc/contract/host-protocol/volumes.ts";
import { VolumeId } from "@svc/contract/vm/volume.ts";
import * as z from "zod";
import { run } from "../programs.ts";
import { hashText, replaceFile } from "../disk/files.ts";
import { OWNER_FILE, ownerOf, removeOrphans } from "../disk/owner.ts";

/** More than anybody stores: what is empty takes no space. A hint of a size is not enforced (document 2). */
export const IMAGE_BYTES = 16 * 1024 ** 3;
const JOURNAL_MB = 32;
const INODE_BYTES = 65_536;
const NOTE = "note.json";
const MANIFEST = "manifest.json";

/** What a host knows of a volume that it has a copy of. */
export const VolumeNote = z.object({
  volumeId: VolumeId,
  /** Names this copy: the store's manifest says whose copy is the newest. */
  copy: z.string(),
  epoch: z.int(),
  /** The sandbox that has it, running or paused, and where; null once it was given back. */
  holder: z.string().nullable(),
  path: z.string(),
  /** The store's manifest says that this host may have newer bytes. */
  isOpen: z.boolean(),
  /** The image's change time when all of it was stored; empty while it never was. */
  storedAt: z.string(),
  usedAt: z.number(),
});
export type VolumeNote = z.infer<typeof VolumeNote>;

/** Where a host keeps its volumes: a folder each, with the image, the note, and what the store has of it. */
export class VolumeFolders {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** Beside the machines' disks: their users must get there. Like records they are of one state folder. */
  static async open(cacheDir: string, stateDir: string): Promise<VolumeFolders> {
    const all = join(cacheDir, "volumes");
    await mkdir(all, { recursive: true, mode: 0o711 });
    const owner = await ownerOf(stateDir);
    await removeOrphans(all, owner.pidNamespace);
    const folder = join(all, hashText(owner.id));
    await mkdir(folder, { recursive: true, mode: 0o711 });
    await writeFile(join(folder, OWNER_FILE), JSON.stringify(owner), { mode: 0o600 });
    return new VolumeFolders(folder);
  }

  /** The notes of all that is here. What was never finished is removed. */
  async read(): Promise<VolumeNote[]> {
    const notes: VolumeNote[] = [];
    for (const name of await readdir(this.#folder)) {
      if (name === OWNER_FILE) continue;
      const note = await readJson(join(this.#folder, name, NOTE), VolumeNote);
      if (note) notes.push(note);
      else await rm(join(this.#folder, name), { recursive: true, force: true });
    }
    return notes;
  }

  folderOf(volumeId: string): string {
    return join(this.#folder, hashText(volumeId));
  }

  imageOf(volumeId: string): string {
    return join(this.folderOf(volumeId), "image.raw");
  }

  async save(note: VolumeNote): Promise<void> {
    await replaceFile(join(this.folderOf(note.volumeId), NOTE), JSON.stringify(note));
  }

  /** The file to store it from. */
  async saveManifest(volumeId: string, manifest: VolumeManifest): Promise<string> {
    const file = join(this.folderOf(volumeId), MANIFEST);
    await replaceFile(file, JSON.stringify(manifest));
    return file;
  }

  async makeFolder(volumeId: string): Promise<string> {
    const folder = this.folderOf(volumeId);
    await mkdir(folder, { recursive: true, mode: 0o711 });
    await chmod(folder, 0o711);
    return folder;
  }

  /** An empty folder for chunks on their way to the store. */
  async makePacked(volumeId: string): Promise<string> {
    const folder = join(await this.makeFolder(volumeId), "packed");
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { mode: 0o700 });
    return folder;
  }

  async remove(volumeId: string): Promise<void> {
    // The note first: an image without one is removed at the next start.
    await rm(join(this.folderOf(volumeId), NOTE), { force: true });
    await rm(this.folderOf(volumeId), { recursive: true, force: true });
  }
}

/** An empty file system, whole or not there at all. */
export async function makeImage(image: string): Promise<void> {
  const draft = `${image}.tmp`;
  await rm(draft, { force: true });
  const file = await open(draft, "wx", 0o600);
  await file.truncate(IMAGE_BYTES).finally(() => file.close());
  const lazy = "lazy_itable_init=1,lazy_journal_init=1,nodiscard";
  const shape = ["-m", "0", "-i", String(INODE_BYTES), "-J", `size=${JOURNAL_MB}`, "-E", lazy];
  await run("mke2fs", ["-q", "-t", "ext4", ...shape, draft]);
  await rename(draft, image);
}

/** Takes an image from a machine's user, which the next machine may have. */
export async function takeBack(image: string): Promise<void> {
  if (process.getuid?.() === 0) await chown(image, 0, 0).catch(() => null);
}

async function readJson<T>(file: string, schema: z.ZodType<T>): Promise<T | null> {
  try {
    return schema.parse(JSON.parse(await readFile(file, "utf8")));
  } catch {
    return null;
  }
}
