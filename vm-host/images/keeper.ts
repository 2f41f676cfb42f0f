import { stat } from "node:fs/promises";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import type { ImageReport } from "@svc/contract/host-protocol/vms.ts";
import { buildHindrance, buildImage } from "./build.ts";
import { type Initrd, makeInitrd } from "./initrd.ts";
import { type Progress, readProgress } from "./progress.ts";
import type { Recipe } from "./recipe.ts";
import { type Image, findImage, imagesIn } from "./store.ts";

const LOOK_MS = 1_000;

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
  log: Log;
  onReady: (bootable: Bootable) => void;
  onChange: () => void;
}

/** One image: finds it, builds it where that is possible, and says how far it is. */
export class ImageKeeper {
  readonly #options: KeeperOptions;
  #bootable: Bootable | null = null;
  #progress: Progress | null = null;
  #hint: string | null = null;
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
    const { step, percent, error } = this.#progress ?? {};
    if (error === undefined && step !== undefined && percent !== undefined)
      return { name, state: "building", percent, step };
    const hint = error ?? this.#hint;
    return { name, state: "missing", ...(hint && { hint: hint.slice(0, 500) }) };
  }

  /** What a create is told while there is no image. */
  get hint(): string {
    const { name, state, percent = 0, step = "", hint } = this.report();
    if (state === "building") return `Image ${name} is being built: ${percent} %, ${step}.`;
    return `Image ${name} is missing. ${hint ?? "npm run images builds it."}`;
  }

  /** Looks for the image at once, and then until it is there. `before`: what goes before a build. */
  async start(before: () => Promise<void> = async () => {}): Promise<void> {
    const { cacheDir, recipe, mayBuild, log } = this.#options;
    if (await this.#look()) return;
    this.#timer = setInterval(() => void this.#watch(), LOOK_MS).unref();
    this.#hint = mayBuild ? await buildHindrance() : "npm run images builds it.";
    if (this.#hint !== null) return;
    const onProgress = (progress: Progress): void => void (this.#progress = progress);
    // What is said before the builder's first word.
    onProgress({ step: "waiting", percent: 0, pid: process.pid, at: Date.now() });
    await before();
    if (this.#isClosed) return;
    buildImage(cacheDir, recipe, onProgress).catch((error: unknown) => {
      this.#hint = messageOf(error);
      log.error({ image: recipe.name, reason: this.#hint }, "image_build_failed");
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#stopLooking();
  }

  #stopLooking(): void {
    if (this.#timer) clearInterval(this.#timer);
  }

  async #watch(): Promise<void> {
    if (await this.#look()) return this.#stopLooking();
    const { cacheDir, recipe, onChange } = this.#options;
    const before = this.#progress?.percent;
    this.#progress = await readProgress(imagesIn(cacheDir), recipe.name, Date.now());
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
