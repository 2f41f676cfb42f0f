import { mkdir, open, readFile, readdir, rename, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import * as z from "zod";
import type { LifeStart, Machine, MachineSpec, Template, VmDriver } from "../driver.ts";
import { Holds } from "./holds.ts";
import { Boots } from "./boots.ts";
import { waitForLock } from "@svc/host-kit/lock.ts";
import { hashOf } from "../images/recipe.ts";
import { FILES } from "../qemu/command.ts";
import { NOTE, digest, fingerprint, isAbandoned, sizeOf } from "./folders.ts";

/** Counts up when the same inputs make another template. */
const FORMAT = 4;
const LOCK_POLL_MS = 200;
/** So long a build waits for boots at most: a host that is never quiet needs its templates all the more. */
const QUIET_MS = 180_000;

/** What must be as it was when the template was made. */
const Note = z.object({
  key: z.string(),
  image: z.string(),
  layer: z.string(),
  /** SHA-256 of the two small files. */
  state: z.string(),
  disk: z.string(),
  /** The memory is too large to read each time: nobody changes a file without its change time moving. */
  memory: z.object({ inode: z.string(), size: z.string(), changedNs: z.string() }),
  life: z.object({ word: z.string(), generation: z.int() }),
  /** It was made of a machine of somebody, whose memory is in it; one of a boot is anybody's. */
  isOwn: z.literal(true).exactOptional(),
  /** It was another host's: what records that differ from it call it. */
  origin: z.object({ key: z.string(), digest: z.string() }).exactOptional(),
});
type Note = z.infer<typeof Note>;

/** A template that is made of something else than a boot: `fill` writes its files. */
export interface Adoption {
  key: string;
  spec: MachineSpec;
  life: LifeStart;
  isOwn?: boolean;
  origin?: { key: string; digest: string };
  fill: (folder: string) => Promise<void>;
}

export interface TemplatesOptions {
  driver: VmDriver;
  folder: string;
  budgetBytes: number;
  log: Log;
  /** Waits until a booted machine is worth freezing, and makes it ready for that. */
  settle: (machine: Machine) => Promise<LifeStart>;
}

/** Machines that were booted once per image, agent and size, and are frozen on disk. */
export class Templates {
  /** Who needs a template that must not be dropped. */
  readonly holds: Holds;
  /** What goes before builds. */
  readonly boots = new Boots();
  readonly #options: TemplatesOptions;
  readonly #building = new Map<string, Promise<Template | null>>();
  #queue: Promise<unknown> = Promise.resolve();

  constructor(options: TemplatesOptions) {
    this.#options = options;
    this.holds = new Holds(options.folder);
  }

  /** Removes what a build that broke off left behind. */
  async open(): Promise<void> {
    const { folder } = this.#options;
    await mkdir(folder, { recursive: true, mode: 0o755 });
    for (const name of await readdir(folder))
      if (isAbandoned(name)) await rm(join(folder, name), { recursive: true, force: true });
  }

  /** The template of a machine like this, or null. One that is not as it was made is thrown away. */
  async find(spec: MachineSpec): Promise<Template | null> {
    return this.get(this.#keyOf(spec), spec);
  }

  /** The template of this key, which is one of this image and agent. */
  async get(key: string, spec: MachineSpec): Promise<Template | null> {
    const folder = join(this.#options.folder, key);
    const note = await readNote(folder);
    if (!note) return null;
    const fault = await faultOf(note, key, spec, folder);
    if (fault === null) {
      const now = new Date();
      // Another host of this folder may drop it just now.
      await utimes(join(folder, NOTE), now, now).catch(() => null);
      return templateOf(note, folder, spec);
    }
    this.#options.log.warn({ template: key, fault }, "a template is not as it was made");
    await rm(folder, { recursive: true, force: true });
    return null;
  }

  /** Exactly this one, made here or fetched, or null. */
  async exactly({ key, digest }: Wanted, spec: MachineSpec): Promise<Template | null> {
    for (const name of [key, fetchedKey({ key, digest })]) {
      const found = await this.get(name, spec);
      const known = found && (found.origin ?? found);
      if (known?.key === key && known.digest === digest) return found;
    }
    return null;
  }

  /** Makes the template of a machine like this, one at a time and after boots. Null when it failed; the log tells why. */
  build(spec: MachineSpec): Promise<Template | null> {
    const key = this.#keyOf(spec);
    const known = this.#building.get(key);
    if (known) return known;
    const building = this.#queue.then(() => this.#once(spec, key)).catch(this.#failed);
    this.#queue = building;
    this.#building.set(key, building);
    void building.finally(() => this.#building.delete(key));
    return building;
  }

  /** Makes a template of something else than a boot. */
  async adopt({ key, spec, life, fill, isOwn = true, origin }: Adoption): Promise<Template> {
    const work = join(this.#options.folder, `${key}.${process.pid}.tmp`);
    try {
      await rm(work, { recursive: true, force: true });
      await mkdir(work, { mode: 0o755 });
      await fill(work);
      return await this.#finish({
        key,
        folder: work,
        spec,
        life,
        isOwn,
        ...(origin && { origin }),
      });
    } catch (error) {
      await rm(work, { recursive: true, force: true });
      throw error;
    }
  }

  /** Only one host of this folder does this for a key at a time. */
  lock(key: string): Promise<Disposable> {
    return waitForLock(join(this.#options.folder, `${key}.lock`), LOCK_POLL_MS);
  }

  #keyOf({ image, layer, cpu, memMb }: MachineSpec): string {
    const { version, accelerator } = this.#options.driver;
    return hashOf(FORMAT, image.image, layer.hash, cpu, memMb, version, accelerator.name);
  }

  /** Other hosts of this machine use the same folder: what one makes the others find. */
  async #once(spec: MachineSpec, key: string): Promise<Template | null> {
    await this.boots.quiet(QUIET_MS);
    using _lock = await this.lock(key);
    return (await this.find(spec)) ?? (await this.#make(spec, key));
  }

  async #make(spec: MachineSpec, key: string): Promise<Template | null> {
    const { log, folder: parent } = this.#options;
    const work = join(parent, `${key}.${process.pid}.tmp`);
    const startedAt = Date.now();
    try {
      await rm(work, { recursive: true, force: true });
      // Machines' users pass through to the files they may read.
      await mkdir(work, { mode: 0o755 });
      const life = await this.#freeze(spec, work);
      const template = await this.#finish({ key, folder: work, spec, life, isOwn: false });
      log.info({ template: key, ms: Date.now() - startedAt }, "a template was made");
      return template;
    } catch (error) {
      await rm(work, { recursive: true, force: true });
      return this.#failed(error);
    }
  }

  readonly #failed = (error: unknown): null => {
    this.#options.log.error({ reason: messageOf(error) }, "a template could not be made");
    return null;
  };

  /** Puts a whole one in its place, and makes room for it. */
  async #finish(made: Omit<Template, "digest">): Promise<Template> {
    const { key, folder: work } = made;
    const note = await noteOf(made);
    await writeFile(join(work, NOTE), JSON.stringify(note), { mode: 0o600 });
    const folder = join(this.#options.folder, key);
    await rm(folder, { recursive: true, force: true });
    await rename(work, folder);
    await this.#keepBudget(key);
    return templateOf(note, folder, made.spec);
  }

  async #freeze(spec: MachineSpec, work: string): Promise<LifeStart> {
    const { driver, settle } = this.#options;
    const memory = join(work, FILES.memory);
    await (await open(memory, "w", 0o600)).close();
    const machine = await driver.boot(spec, memory);
    try {
      const life = await settle(machine);
      await driver.freeze(machine, work);
      return life;
    } finally {
      await machine.destroy();
    }
  }

  /** Drops those that were not used for the longest time. */
  async #keepBudget(newest: string): Promise<void> {
    const { folder, budgetBytes, log } = this.#options;
    const names = (await readdir(folder)).filter((name) => /^[0-9a-f]+$/.test(name));
    const all = await Promise.all(names.map((name) => sizeOf(folder, name)));
    let total = all.reduce((sum, one) => sum + one.bytes, 0);
    for (const { name, bytes } of all.toSorted((left, right) => left.usedAt - right.usedAt)) {
      if (total <= budgetBytes || name === newest || (await this.holds.areOn(name))) continue;
      // Machines that came from it keep its files open.
      await rm(join(folder, name), { recursive: true, force: true });
      total -= bytes;
      log.info({ template: name }, "a template was dropped for room");
    }
  }
}

type Wanted = Pick<Template, "key" | "digest">;

/** Where one of another host lies here, which may have its own under the same key. */
export const fetchedKey = ({ key, digest }: Wanted): string => hashOf("fetched", key, digest);

function templateOf(note: Note, folder: string, spec: MachineSpec): Template {
  const { key, isOwn = false, origin } = note;
  const digest = hashOf(note);
  return { key, digest, folder, spec, life: lifeOf(note), isOwn, ...(origin && { origin }) };
}

async function noteOf(made: Omit<Template, "digest">): Promise<Note> {
  const { key, folder, spec, life, isOwn, origin } = made;
  return {
    key,
    image: spec.image.image,
    layer: spec.layer.hash,
    state: await digest(join(folder, FILES.state)),
    disk: await digest(join(folder, FILES.disk)),
    memory: await fingerprint(join(folder, FILES.memory)),
    life: { word: Buffer.from(life.word).toString("hex"), generation: life.generation },
    ...(isOwn && { isOwn: true as const }),
    ...(origin && { origin }),
  };
}

function lifeOf({ life: { word, generation } }: Note): LifeStart {
  return { word: Buffer.from(word, "hex"), generation };
}

async function readNote(folder: string): Promise<Note | null> {
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

async function faultOf(
  note: Note,
  key: string,
  { image, layer }: MachineSpec,
  folder: string,
): Promise<string | null> {
  if (note.key !== key || note.image !== image.image || note.layer !== layer.hash)
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
