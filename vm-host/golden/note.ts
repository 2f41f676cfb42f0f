import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { FILES, type GoldenMachine, type MachineSpec } from "../driver.ts";
import { hashOf } from "../images/recipe.ts";
import { StoredLife, lifeOf, storedLife } from "../life.ts";

/** The file that says what a golden machine is made of; it is written last. The disk calls golden machines templates. */
export const NOTE = "template.json";

/** What must be as it was when the golden machine was made. Lies on disk: `layer` is the hash of the initrd. */
export const Note = z.object({
  key: z.string(),
  image: z.string(),
  layer: z.string(),
  /** SHA-256 of the two small files. */
  state: z.string(),
  disk: z.string(),
  /** The memory is too large to read each time: nobody changes a file without its change time moving. */
  memory: z.object({ inode: z.string(), size: z.string(), changedNs: z.string() }),
  life: StoredLife,
  /** It was made of the machine of an org, whose memory is in it; a booted one belongs to nobody. */
  isOwn: z.literal(true).exactOptional(),
  /** Its name in records, where another host has made it. */
  origin: z.object({ key: z.string(), digest: z.string() }).exactOptional(),
});
export type Note = z.infer<typeof Note>;

/** The golden machine that a note is about. */
export function goldenOf(note: Note, folder: string, spec: MachineSpec): GoldenMachine {
  const { key, isOwn = false, origin } = note;
  const digest = hashOf(note);
  return { key, digest, folder, spec, life: lifeOf(note), isOwn, ...(origin && { origin }) };
}

/** What the files of a golden machine are now. */
export async function noteOf(made: Omit<GoldenMachine, "digest">): Promise<Note> {
  const { key, folder, spec, life, isOwn, origin } = made;
  return {
    key,
    image: spec.image.image,
    layer: spec.initrd.hash,
    state: await digest(join(folder, FILES.state)),
    disk: await digest(join(folder, FILES.disk)),
    memory: await fingerprint(join(folder, FILES.memory)),
    life: storedLife(life),
    ...(isOwn && { isOwn: true as const }),
    ...(origin && { origin }),
  };
}

/** The note of a folder; null where there is none. */
export async function readNote(folder: string): Promise<Note | null> {
  const text = await readFile(join(folder, NOTE), "utf8").catch(() => null);
  if (text === null) return null;
  try {
    return Note.parse(JSON.parse(text));
  } catch {
    // Broken, which the comparison will say.
    const memory = { inode: "", size: "", changedNs: "" };
    const life = { word: "", generation: 0 };
    return { key: "", image: "", layer: "", state: "", disk: "", memory, life };
  }
}

/** What is not as the note says, or null. */
export async function faultOf(
  note: Note,
  key: string,
  { image, initrd }: MachineSpec,
  folder: string,
): Promise<string | null> {
  if (note.key !== key || note.image !== image.image || note.layer !== initrd.hash)
    return "it is of another image or agent";
  try {
    if (note.state !== (await digest(join(folder, FILES.state)))) return "its state changed";
    if (note.disk !== (await digest(join(folder, FILES.disk)))) return "its disk changed";
    const memory = await fingerprint(join(folder, FILES.memory));
    return JSON.stringify(memory) === JSON.stringify(note.memory) ? null : "its memory changed";
  } catch {
    return "a file of it is missing";
  }
}

/** SHA-256 of a small file. */
async function digest(file: string): Promise<string> {
  return createHash("sha256")
    .update(await readFile(file))
    .digest("hex");
}

/** What tells that a file is the same as before, without reading it. */
async function fingerprint(
  file: string,
): Promise<{ inode: string; size: string; changedNs: string }> {
  const { ino, size, ctimeNs } = await stat(file, { bigint: true });
  return { inode: String(ino), size: String(size), changedNs: String(ctimeNs) };
}
