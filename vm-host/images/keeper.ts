import { stat } from "node:fs/promises";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import type { ImageReport } from "@svc/contract/host-protocol/vms.ts";
import { buildHindrance, buildImage } from "./build.ts";
import { freeGbOf } from "../disk/free-disk.ts";
import { type Initrd, makeInitrd } from "./initrd.ts";
import { type Progress, readProgress } from "./progress.ts";
import type { Recipe } from "./recipe.ts";
import { type Image, findImage, imagesIn } from "./store.ts";

const LOOK_MS = 1_000;
/** The same of an image that may never be built. */
const LOOK_ON_USE_MS = 10_000;
/** A build that failed is tried again by a use of the image, not sooner than this. */
const RETRY_MS = 5 * 60_000;

/** An image, and the initrd that boots it with the agent of today. */
export interface Bootable {
  image: Image;
  initrd: Initrd;
}

export interface KeeperOptions {
  cacheDir: string;
  agentDir: string;
  recipe: Recipe;
  /** Build what is missing; else only say so. */
  mayBuild: boolean;
  /** Builds it once somebody asks for it: the turn in which it is built. Without this it is built at the start. */
  onUse?: (build: () => Promise<void>) => Promise<void>;
  /** Whether the image that goes before this one is there, or on its way. Until this one is looked for, it is on its way as well. */
  isNext?: () => boolean;
  log: Log;
  onReady: (bootable: Bootable) => void;
  onChange: () => void;
}

/** What a build does before its first step. */
const WAITING = "waiting";
const ON_USE = "It is built on first use, which takes minutes.";

/** One image: finds it, builds it where that is possible, and says how far it is. */
export class ImageKeeper {
  readonly #options: KeeperOptions;
  #bootable: Bootable | null = null;
  #progress: Progress | null = null;
  #hint: string | null = null;
  #isStarted = false;
  /** It can be built here. */
  #isBuildable = false;
  /** This host builds it, or will in a moment. */
  #isBuilding = false;
  /** When a build that failed may be tried again; null while nothing has failed. */
  #retryAt: number | null = null;
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  get bootable(): Bootable | null {
    return this.#bootable;
  }

  report(): ImageReport {
    const { name } = this.#options.recipe;
    if (this.#bootable) return { name, state: "ready" };
    if (this.#isNext) return { name, state: "building", percent: 0, step: WAITING };
    const { step, percent, error } = this.#progress ?? {};
    if (error === undefined && step !== undefined && percent !== undefined)
      return { name, state: "building", percent, step };
    if (error === undefined && this.#isUnused)
      return { name, state: "missing", hint: ON_USE, onUse: true };
    const hint = error ?? this.#hint;
    return { name, state: "missing", ...(hint && { hint: hint.slice(0, 500) }) };
  }

  /** What a create is told while there is no image. */
  get hint(): string {
    const { name, state, percent = 0, step = "", hint } = this.report();
    if (state === "building") return `Image ${name} is being built: ${percent} %, ${step}.`;
    return `Image ${name} is missing. ${hint ?? this.#command}`;
  }

  /** It is built once somebody asks for it. */
  get isOnUse(): boolean {
    return this.#options.onUse !== undefined;
  }

  /**
   * Looks for the image at once, and then until it is there. Builds what is missing, unless that waits for its first use.
   * `before`: what goes before a build.
   */
  async start(before: () => Promise<void> = async () => {}): Promise<void> {
    const { mayBuild } = this.#options;
    if (await this.#look()) return;
    const lookMs = this.isOnUse ? LOOK_ON_USE_MS : LOOK_MS;
    const watch = (): void => void this.#watch().catch((error: unknown) => this.#failed(error));
    this.#timer = setInterval(watch, lookMs).unref();
    this.#hint = mayBuild ? await buildHindrance() : this.#command;
    this.#isBuildable = this.#hint === null;
    this.#isStarted = true;
    if (!this.#isBuildable || this.isOnUse) return;
    this.#beginBuilding();
    await before();
    void this.#build();
  }

  /** Nobody will look for it: no machine can be made of it here. */
  giveUp(reason: string): void {
    this.#isStarted = true;
    this.#hint = reason;
  }

  /** Somebody asks for the image: one that is built on use is built now, in the background. */
  use(): void {
    const { onUse, onChange } = this.#options;
    const isDue = this.#retryAt === null || Date.now() >= this.#retryAt;
    if (!onUse || !this.#isBuildable || !isDue) return;
    if (this.#isBuilding || this.#bootable) return;
    this.#beginBuilding();
    onChange();
    void onUse(() => this.#build(true));
  }

  close(): void {
    this.#isClosed = true;
    this.#stopLooking();
  }

  get #isNext(): boolean {
    const { mayBuild, isNext } = this.#options;
    return !this.#isStarted && mayBuild && isNext?.() === true;
  }

  /** Nobody has asked for it, and nobody builds it. */
  get #isUnused(): boolean {
    return this.isOnUse && this.#isBuildable && !this.#isBuilding && this.#retryAt === null;
  }

  get #command(): string {
    return this.isOnUse
      ? `npm run images -- ${this.#options.recipe.name} builds it.`
      : "npm run images builds it.";
  }

  /** It counts as being built before the builder's first word. */
  #beginBuilding(): void {
    this.#isBuilding = true;
    this.#progress = { step: WAITING, percent: 0, pid: process.pid, at: Date.now() };
  }

  async #build(isLater = false): Promise<void> {
    const { cacheDir, recipe, onChange } = this.#options;
    if (this.#isClosed) return;
    try {
      if (isLater) await checkDisk(cacheDir, recipe);
      await buildImage(cacheDir, recipe, (progress) => void (this.#progress = progress));
      await this.#look();
    } catch (error) {
      this.#progress = null;
      this.#retryAt = Date.now() + RETRY_MS;
      this.#failed(error);
    } finally {
      this.#isBuilding = false;
      onChange();
    }
  }

  #failed(error: unknown): void {
    const { recipe, log } = this.#options;
    this.#hint = messageOf(error);
    log.error({ image: recipe.name, reason: this.#hint }, "image_build_failed");
  }

  #stopLooking(): void {
    if (this.#timer) clearInterval(this.#timer);
  }

  async #watch(): Promise<void> {
    if (await this.#look()) return this.#stopLooking();
    const { cacheDir, recipe, onChange } = this.#options;
    const before = this.#progress?.percent;
    const found = await readProgress(imagesIn(cacheDir), recipe.name, Date.now());
    // While this host builds, the file tells what it knows already, of a build before, or of another host's build.
    const isOthers = found?.error === undefined && found?.pid !== process.pid;
    if (!this.#isBuilding || (found && isOthers)) this.#progress = found;
    if (this.#progress?.percent !== before) onChange();
  }

  async #look(): Promise<boolean> {
    const { cacheDir, agentDir, recipe, onReady, onChange } = this.#options;
    if (this.#bootable) return true;
    const image = await findImage(cacheDir, recipe);
    if (!image) return false;
    if (!(await stat(agentDir).catch(() => null))) {
      this.#hint = "The guest agent is not built.";
      return false;
    }
    const bootable = { image, initrd: await makeInitrd(cacheDir, image, agentDir) };
    if (this.#bootable) return true;
    this.#bootable = bootable;
    onReady(bootable);
    onChange();
    return true;
  }
}

/** A host that serves machines keeps its disk for them. Throws where the folder of the system and its image might not fit. */
async function checkDisk(cacheDir: string, { sizeGb }: Recipe): Promise<void> {
  const [free, needed] = [await freeGbOf(cacheDir), 2 * sizeGb];
  if (free < needed) throw new Error(`Its build needs ${needed} GiB of disk; ${free} are free.`);
}
