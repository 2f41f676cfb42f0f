import { mkdir, open, readdir, rename, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { waitForLock } from "@svc/host-kit/lock.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import {
  FILES,
  type GoldenMachine,
  type Machine,
  type MachineSpec,
  type VmDriver,
} from "../driver.ts";
import { hashOf } from "../images/recipe.ts";
import type { LifeStart } from "../life.ts";
import { Boots } from "./boots.ts";
import { sizeOf } from "./folders.ts";
import { Holds } from "./holds.ts";
import { NOTE, faultOf, goldenOf, noteOf, readNote } from "./note.ts";

/** Counts up when the same inputs make another golden machine. */
const FORMAT = 5;
const LOCK_POLL_MS = 200;
/** So long a build waits for boots at most: a host that is never quiet needs its golden machines all the more. */
const QUIET_MS = 180_000;

/** A golden machine that is made of something else than a boot: `fill` writes its files. */
export interface Adoption {
  key: string;
  spec: MachineSpec;
  life: LifeStart;
  isOwn?: boolean;
  origin?: { key: string; digest: string };
  fill: (folder: string) => Promise<void>;
}

export interface GoldenOptions {
  driver: VmDriver;
  /** Where they lie, as `openGoldenFolder` leaves it. */
  folder: string;
  budgetBytes: number;
  log: Log;
  /** Waits until a booted machine is worth freezing, and makes it ready for that. */
  settle: (machine: Machine) => Promise<LifeStart>;
}

/** Machines that were booted once per image, agent and size, and are frozen on disk. */
export class GoldenMachines {
  /** Who needs a golden machine that must not be dropped. */
  readonly holds: Holds;
  /** What goes before builds. */
  readonly boots = new Boots();
  readonly #options: GoldenOptions;
  readonly #building = new Map<string, Promise<GoldenMachine | null>>();
  #queue: Promise<unknown> = Promise.resolve();

  constructor(options: GoldenOptions) {
    this.#options = options;
    this.holds = new Holds(options.folder);
  }

  /** The golden machine for a machine like this, or null. A golden machine that has changed on disk is thrown away. */
  async find(spec: MachineSpec): Promise<GoldenMachine | null> {
    return this.get(this.#keyOf(spec), spec);
  }

  /** The golden machine of this key, which is one of this image and agent. */
  async get(key: string, spec: MachineSpec): Promise<GoldenMachine | null> {
    const folder = join(this.#options.folder, key);
    const note = await readNote(folder);
    if (!note) return null;
    const fault = await faultOf(note, key, spec, folder);
    if (fault === null) {
      const now = new Date();
      // Another host of this folder may drop it just now.
      await utimes(join(folder, NOTE), now, now).catch(() => null);
      return goldenOf(note, folder, spec);
    }
    this.#options.log.warn({ golden: key, fault }, "golden_machine_changed");
    await rm(folder, { recursive: true, force: true });
    return null;
  }

  /** Exactly this one, made here or fetched, or null. */
  async exactly({ key, digest }: Wanted, spec: MachineSpec): Promise<GoldenMachine | null> {
    for (const name of [key, fetchedKey({ key, digest })]) {
      const found = await this.get(name, spec);
      const known = found && (found.origin ?? found);
      if (known?.key === key && known.digest === digest) return found;
    }
    return null;
  }

  /** Makes the golden machine of a machine like this, one at a time and after boots. Null when it failed; the log tells why. */
  build(spec: MachineSpec): Promise<GoldenMachine | null> {
    const key = this.#keyOf(spec);
    const known = this.#building.get(key);
    if (known) return known;
    const building = this.#queue.then(() => this.#once(spec, key)).catch(this.#failed);
    this.#queue = building;
    this.#building.set(key, building);
    void building.finally(() => this.#building.delete(key));
    return building;
  }

  /** Makes a golden machine of something else than a boot. */
  async adopt({ key, spec, life, fill, isOwn = true, origin }: Adoption): Promise<GoldenMachine> {
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

  #keyOf({ image, initrd, cpu, memMb }: MachineSpec): string {
    const { version, accelerator } = this.#options.driver;
    return hashOf(FORMAT, image.image, initrd.hash, cpu, memMb, version, accelerator.name);
  }

  /** Other hosts of this machine use the same folder: what one makes the others find. */
  async #once(spec: MachineSpec, key: string): Promise<GoldenMachine | null> {
    await this.boots.quiet(QUIET_MS);
    using _lock = await this.lock(key);
    return (await this.find(spec)) ?? (await this.#make(spec, key));
  }

  async #make(spec: MachineSpec, key: string): Promise<GoldenMachine | null> {
    const { log, folder: parent } = this.#options;
    const work = join(parent, `${key}.${process.pid}.tmp`);
    const startedAt = Date.now();
    try {
      await rm(work, { recursive: true, force: true });
      // Machines' users pass through to the files they may read.
      await mkdir(work, { mode: 0o755 });
      const life = await this.#freeze(spec, work);
      const golden = await this.#finish({ key, folder: work, spec, life, isOwn: false });
      log.info({ golden: key, tookMs: Date.now() - startedAt }, "golden_machine_made");
      return golden;
    } catch (error) {
      await rm(work, { recursive: true, force: true });
      return this.#failed(error);
    }
  }

  readonly #failed = (error: unknown): null => {
    this.#options.log.error({ reason: messageOf(error) }, "golden_machine_failed");
    return null;
  };

  /** Moves a finished golden machine to its place, and drops others where there is too little space. */
  async #finish(made: Omit<GoldenMachine, "digest">): Promise<GoldenMachine> {
    const { key, folder: work } = made;
    const note = await noteOf(made);
    await writeFile(join(work, NOTE), JSON.stringify(note), { mode: 0o600 });
    const folder = join(this.#options.folder, key);
    await rm(folder, { recursive: true, force: true });
    await rename(work, folder);
    await this.#keepBudget(key);
    return goldenOf(note, folder, made.spec);
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

  /** Drops golden machines that were not used for the longest time. */
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
      log.info({ golden: name }, "golden_machine_dropped");
    }
  }
}

type Wanted = Pick<GoldenMachine, "key" | "digest">;

/** The key under which a golden machine of another host lies here: this host may have its own under the same key. */
export const fetchedKey = ({ key, digest }: Wanted): string => hashOf("fetched", key, digest);
