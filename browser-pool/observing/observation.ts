import { randomInt } from "node:crypto";
import { encodeFrame } from "@svc/contract/browser/observer-frame.ts";
import type { PagesMessage } from "@svc/contract/browser/observer.ts";
import type { PageAsks } from "@svc/contract/browser/take-over.ts";
import type { FeedOrder, Watch } from "@svc/contract/host-protocol/feed.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import type { CdpMux } from "../cdp/mux.ts";
import { type CdpEvent, OwnClient } from "../cdp/own-client.ts";
import { Hand } from "./hand.ts";
import { Screencast } from "./screencast.ts";
import { Tabs } from "./tabs.ts";

const SECOND_MS = 1_000;
/** Nobody acknowledges what they have not read: the next number cannot be guessed. */
const MOST_STEP = 2 ** 20;
/** Tabs that change all the time are told so often. */
const TABS_EVERY_MS = 250;

/** Where what is seen goes to. */
export interface Audience {
  text(message: PagesMessage | PageAsks): void;
  frame(message: Uint8Array): void;
  /** A person has taken a page: who answers dialogs without being asked lets go. */
  held(): void;
}

/** A page that is shown. */
interface Shown {
  cast: Screencast;
  /** When its next frame may leave, on the clock of `performance`. */
  dueAt: number;
  isNew: boolean;
  timer: NodeJS.Timeout | null;
}

/**
 * The picture of a browser for its viewers: a client of the pool's own, which counts as no customer. Frames leave at the
 * pace of the audience, and no more than it takes: of each page the newest one waits.
 */
export class Observation {
  readonly #client: OwnClient;
  readonly #tabs: Tabs;
  readonly #audience: Audience;
  /** Of the person who has taken the session over. */
  readonly #hand: Hand;
  readonly #shown = new Map<string, Shown>();
  #watch: Watch | null = null;
  /** From the clock: what comes after a feed was lost is newer by its number, too. */
  #seq = Date.now();
  #unacked: number[] = [];
  #tabsTimer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(mux: CdpMux, audience: Audience) {
    this.#audience = audience;
    this.#client = new OwnClient(mux, (event) => this.#hear(event));
    this.#hand = new Hand(this.#client, (asks) => audience.text(asks));
    this.#tabs = new Tabs(this.#client, () => this.#tabsChanged());
  }

  /** Rejects when the browser dies meanwhile. */
  async open(): Promise<void> {
    await this.#client.open();
    await this.#tabs.open();
  }

  obey(order: FeedOrder): void {
    switch (order.type) {
      case "watch":
        this.#watch = order;
        this.#hold(order.held);
        return this.#adjust();
      case "input": {
        const newest = this.#shown.get(order.page)?.cast.shot?.head.scale ?? 1;
        // A click is meant for the frame that the person has before them.
        const { scale = newest } = order.input.type === "mouse" ? order.input : {};
        return this.#hand.use(order.input, { page: order.page, scale });
      }
      case "show":
        return this.#showAgain();
      case "ack":
        this.#unacked = this.#unacked.filter((seq) => seq > order.seq);
        return this.#sendDue();
    }
  }

  /** Lets go of the browser at once. */
  close(): void {
    this.#isClosed = true;
    if (this.#tabsTimer) clearTimeout(this.#tabsTimer);
    for (const page of this.#shown.keys()) this.#hide(page);
    this.#hand.letGo();
    this.#tabs.close();
    this.#client.close();
  }

  #hold(page: string | null): void {
    if (page === null) return this.#hand.letGo();
    this.#audience.held();
    this.#hand.hold(page);
  }

  #hear(event: CdpEvent): void {
    if (this.#isClosed) return;
    if (event.sessionId === null) return this.#tabs.hear(event);
    this.#hand.hear(event);
    for (const { cast } of this.#shown.values())
      if (cast.sessionId === event.sessionId) cast.hear(event);
  }

  #tabsChanged(): void {
    if (this.#isClosed) return;
    this.#adjust();
    this.#tabsTimer ??= setTimeout(() => this.#tellTabs(), TABS_EVERY_MS);
  }

  #tellTabs(): void {
    if (this.#tabsTimer) clearTimeout(this.#tabsTimer);
    this.#tabsTimer = null;
    this.#audience.text({ type: "pages", seq: this.#nextSeq(), pages: this.#tabs.list });
  }

  /** Shows the pages that are watched, and no others. */
  #adjust(): void {
    if (!this.#watch) return;
    const { active, pages, quality, maxWidth } = this.#watch;
    const first = active ? this.#tabs.active : null;
    const wanted = new Set([...(first === null ? [] : [first]), ...pages]);
    for (const page of this.#shown.keys()) if (!this.#isThere(page, wanted)) this.#hide(page);
    for (const page of wanted) {
      if (!this.#tabs.has(page)) continue;
      const shown = this.#shown.get(page);
      if (shown) shown.cast.change({ quality, maxWidth });
      else this.#show(page, { quality, maxWidth });
    }
  }

  #isThere(page: string, wanted: ReadonlySet<string>): boolean {
    return wanted.has(page) && this.#tabs.has(page);
  }

  #show(page: string, picture: { quality: number; maxWidth: number }): void {
    const cast: Screencast = new Screencast(this.#client, page, picture, () => {
      const shown = this.#shown.get(page);
      if (shown?.cast !== cast) return;
      shown.isNew = true;
      this.#sendDue();
    });
    this.#shown.set(page, { cast, dueAt: 0, isNew: false, timer: null });
  }

  #hide(page: string): void {
    const shown = this.#shown.get(page);
    if (!shown) return;
    if (shown.timer) clearTimeout(shown.timer);
    shown.cast.stop();
    this.#shown.delete(page);
  }

  #showAgain(): void {
    this.#tellTabs();
    for (const shown of this.#shown.values()) shown.isNew = shown.cast.shot !== null;
    this.#sendDue();
  }

  /** Sends what is new and may leave; the page that waits the longest goes first. */
  #sendDue(): void {
    const waiting = [...this.#shown.values()].filter(({ isNew }) => isNew);
    for (const shown of waiting.toSorted((left, right) => left.dueAt - right.dueAt)) {
      if (this.#unacked.length >= LIMITS.framesUnacked) return;
      const waitMs = shown.dueAt - performance.now();
      if (waitMs <= 0) this.#send(shown);
      else
        shown.timer ??= setTimeout(() => {
          shown.timer = null;
          this.#sendDue();
        }, waitMs);
    }
  }

  #send(shown: Shown): void {
    const { shot } = shown.cast;
    if (!shot) return;
    const fps = this.#watch?.fps ?? 1;
    // From when it was due, so that a frame that is a little late does not slow those after it down.
    const now = performance.now();
    const everyMs = SECOND_MS / fps;
    shown.dueAt = Math.max(shown.dueAt + everyMs, now + everyMs / 2);
    shown.isNew = false;
    const seq = this.#nextSeq();
    const message = encodeFrame({ seq, ...shot.head }, shot.jpeg);
    if (message.length > LIMITS.frameBytes) return;
    this.#unacked.push(seq);
    this.#audience.frame(message);
  }

  #nextSeq(): number {
    this.#seq += randomInt(1, MOST_STEP);
    return this.#seq;
  }
}
