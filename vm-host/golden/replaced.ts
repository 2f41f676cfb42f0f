import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "@svc/host-kit/log.ts";
import type { MachineSpec } from "../driver.ts";
import { Holds } from "./holds.ts";
import { NOTE, type Note, readNote } from "./note.ts";

/** Another host of the folder may be of another version: it touches what it uses. */
const UNUSED_MS = 24 * 60 * 60_000;

type Origin = Pick<MachineSpec, "image" | "initrd">;

const isOf = (note: Note, { image, initrd }: Origin): boolean =>
  note.image === image.image && note.layer === initrd.hash;

/**
 * Drops golden machines of images and agents that this host has no more, once nobody has used them for a day and no machine
 * or record needs them. They would keep their image on the disk. Those made of a customer's machine stay: their owner may
 * come back.
 */
export async function dropReplaced(
  folder: string,
  used: readonly Origin[],
  now: number,
  log: Log,
): Promise<void> {
  const holds = new Holds(folder);
  for (const name of (await readdir(folder)).filter((found) => /^[0-9a-f]+$/.test(found))) {
    const note = await readNote(join(folder, name));
    if (!note || note.isOwn || used.some((one) => isOf(note, one))) continue;
    const found = await stat(join(folder, name, NOTE)).catch(() => null);
    if (!found || now - found.mtimeMs < UNUSED_MS || (await holds.areOn(name))) continue;
    await rm(join(folder, name), { recursive: true, force: true });
    log.info({ golden: name }, "replaced_golden_machine_removed");
  }
}
