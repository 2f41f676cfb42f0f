import { decodeFrame } from "@svc/contract/browser/observer-frame.ts";
import { PagesMessage, type TextMessage } from "@svc/contract/browser/observer.ts";
import type { Watch } from "@svc/contract/host-protocol/feed.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { jsonOf } from "./messages.ts";
import type { Frame, Viewer } from "./viewer.ts";

/** Frames that are held: of the pages that are chosen, of the active one, and of one that is to be it. */
const MOST_FRAMES = LIMITS.observedPages + 2;

/** The viewers of a session, and what they are shown: the newest frame of each watched page, and the tabs. */
export class Audience {
  readonly #viewers = new Map<WebSocket, Viewer>();
  readonly #frames = new Map<string, Frame>();
  #pages: PagesMessage | null = null;
  /** The newest frame of the pool, and the newest that it was told to be taken. */
  #newest = 0;
  #taken = 0;
  readonly #onTaken: (seq: number) => void;
  #isHidden = false;

  /** `onTaken`: the pool may send more. */
  constructor(onTaken: (seq: number) => void) {
    this.#onTaken = onTaken;
  }

  get size(): number {
    return this.#viewers.size;
  }

  get all(): Viewer[] {
    return [...this.#viewers.values()];
  }

  get(socket: WebSocket): Viewer | undefined {
    return this.#viewers.get(socket);
  }

  add(viewer: Viewer): void {
    this.#viewers.set(viewer.socket, viewer);
  }

  remove(socket: WebSocket): void {
    this.#viewers.get(socket)?.stop();
    this.#viewers.delete(socket);
    this.#settle();
  }

  /** Whether a viewer can be shown at once what it watches. */
  canShow(viewer: Viewer): boolean {
    const page = this.pageOf(viewer);
    return this.#pages !== null && page !== null && this.#frames.has(page);
  }

  /** Shows a viewer what it does not have yet, as far as it takes more. */
  show(viewer: Viewer): void {
    if (this.#pages) viewer.tellPages(this.#pages);
    const page = this.pageOf(viewer);
    const frame = page === null ? undefined : this.#frames.get(page);
    // What a person types is for nobody else to see.
    if (this.#isHidden && viewer.facts.handoff === null) return this.#settle();
    if (frame) viewer.offer(frame, () => this.show(viewer));
    this.#settle();
  }

  /** Takes a frame of the pool. False: it is none. */
  frame(bytes: ArrayBuffer): boolean {
    const read = bytes.byteLength <= LIMITS.frameBytes ? decodeFrame(new Uint8Array(bytes)) : null;
    if (!read) return false;
    const { page, seq } = read.head;
    // The newest stands last.
    this.#frames.delete(page);
    this.#frames.set(page, { page, seq, bytes });
    this.#newest = Math.max(this.#newest, seq);
    const [oldest] = this.#frames.keys();
    if (oldest !== undefined && this.#frames.size > MOST_FRAMES) this.#frames.delete(oldest);
    for (const viewer of this.#viewers.values()) this.show(viewer);
    this.#settle();
    return true;
  }

  /** Takes the tabs from the pool. False: they are none. */
  pages(text: string): boolean {
    const pages = PagesMessage.safeParse(jsonOf(text)).data;
    if (!pages) return false;
    this.#pages = pages;
    const ids = new Set(pages.pages.map(({ id }) => id));
    for (const viewer of this.#viewers.values()) viewer.forget((page) => ids.has(page));
    this.#prune();
    for (const viewer of this.#viewers.values()) this.show(viewer);
    return true;
  }

  /** Whether a person has the session: those who only watch are shown no frames then. */
  get isHidden(): boolean {
    return this.#isHidden;
  }

  hide(isHidden: boolean): void {
    if (isHidden === this.#isHidden) return;
    this.#isHidden = isHidden;
    this.tell(this.state);
    for (const viewer of this.#viewers.values()) this.show(viewer);
  }

  get state(): Extract<TextMessage, { type: "state" }> {
    return { type: "state", status: "active", ...(this.#isHidden && { handoff: "active" }) };
  }

  /** The one who has taken the session over, if there is one. */
  get person(): Viewer | null {
    return this.all.find(({ facts }) => facts.handoff !== null) ?? null;
  }

  /** A new feed begins: what the one before was told is over. */
  anew(): void {
    this.#taken = 0;
    this.#newest = 0;
  }

  tell(message: Exclude<TextMessage, PagesMessage>): void {
    for (const viewer of this.#viewers.values()) viewer.tell(message);
  }

  closeAll(code: number, reason: string): void {
    for (const viewer of this.#viewers.values()) viewer.close(code, reason);
    this.#viewers.clear();
    this.#frames.clear();
    this.#pages = null;
  }

  /** Whether the session has this page. */
  knows(page: string): boolean {
    return this.#pages?.pages.some(({ id }) => id === page) ?? false;
  }

  /** Whether one more page can be shown beside those that viewers have chosen. */
  hasPlaceFor(page: string, viewer: Viewer): boolean {
    const others = this.all.filter((each) => each !== viewer);
    return new Set([...chosenBy(others), page]).size <= LIMITS.observedPages;
  }

  /** What the pool is to show to all of them: of their wishes the most demanding. Null: nobody watches. */
  get watch(): Watch | null {
    if (this.size === 0) return null;
    const wishes = this.all.map(({ facts }) => facts);
    const most = (key: "fps" | "quality" | "maxWidth"): number =>
      Math.max(1, ...wishes.map((wish) => wish[key]));
    return {
      active: wishes.some(({ page }) => page === null),
      pages: [...chosenBy(this.all)].slice(0, LIMITS.observedPages),
      fps: most("fps"),
      quality: most("quality"),
      maxWidth: most("maxWidth"),
      held: this.person && this.pageOf(this.person),
    };
  }

  /** The page that a viewer is shown; null while that is not known. */
  pageOf({ facts }: Viewer): string | null {
    return facts.page ?? this.#pages?.pages.find(({ active }) => active)?.id ?? null;
  }

  /** The URL of the page that the person is shown, or would be: the active one. Null while that is not known. */
  get shownUrl(): string | null {
    const { person } = this;
    const chosen = person && this.pageOf(person);
    const pages = this.#pages?.pages ?? [];
    return (pages.find(({ id, active }) => (chosen ? id === chosen : active)) ?? null)?.url ?? null;
  }

  /** Forgets frames of pages that nobody watches, by the newest tabs: the first frame of a new tab may come before those. */
  #prune(): void {
    const watched = new Set(this.all.map((viewer) => this.pageOf(viewer)));
    for (const page of this.#frames.keys()) if (!watched.has(page)) this.#frames.delete(page);
  }

  /** The pool sends more while somebody takes it. */
  #settle(): void {
    if (this.#taken >= this.#newest || !this.all.some(({ hasRoom }) => hasRoom)) return;
    this.#taken = this.#newest;
    this.#onTaken(this.#taken);
  }
}

function chosenBy(viewers: Viewer[]): Set<string> {
  return new Set(viewers.flatMap(({ facts }) => (facts.page === null ? [] : [facts.page])));
}
