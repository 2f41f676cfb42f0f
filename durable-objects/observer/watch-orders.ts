import { FPS, PICTURE } from "@svc/contract/browser/observer.ts";
import type { Watch } from "@svc/contract/host-protocol/feed.ts";

/** A viewer that changes its mind all the time must not have the browser begin anew each time. */
const EVERY_MS = 500;

/** The order while nobody looks: no frames, only the URLs of the tabs. */
export const TABS_ALONE: Watch = {
  ...PICTURE,
  active: false,
  pages: [],
  fps: FPS.least,
  held: null,
};

/** Tells the pool what to show, when that changes, and not too often. */
export class WatchOrders {
  readonly #wanted: () => Watch | null;
  readonly #tell: (watch: Watch) => void;
  #told = "";
  #toldAt = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;

  /** `wanted`: null while nobody watches. */
  constructor(wanted: () => Watch | null, tell: (watch: Watch) => void) {
    this.#wanted = wanted;
    this.#tell = tell;
  }

  /** A feed begins: it knows of nothing. */
  begin(): void {
    this.#told = "";
    this.#toldAt = 0;
    this.send();
  }

  /** Sends the order that holds now, at once or soon, unless the pool has it. */
  send(): void {
    const wanted = this.#wanted();
    if (!wanted || this.#timer || JSON.stringify(wanted) === this.#told) return;
    const waitMs = this.#toldAt + EVERY_MS - Date.now();
    if (waitMs <= 0) return this.#now();
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#now();
    }, waitMs);
  }

  stop(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #now(): void {
    const watch = this.#wanted();
    if (!watch) return;
    this.#told = JSON.stringify(watch);
    this.#toldAt = Date.now();
    this.#tell(watch);
  }
}
