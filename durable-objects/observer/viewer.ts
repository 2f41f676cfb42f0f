import type { PagesMessage, TextMessage, ViewerOptions } from "@svc/contract/browser/observer.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import * as z from "zod";

/** What the Worker has found out of a viewer, as JSON. */
export const VIEWER_HEADER = "x-svc-viewer";
const SECOND_MS = 1_000;

/** What is known of a viewer while its socket sleeps. */
export const ViewerFacts = z.object({
  /** The session's id. */
  id: z.string(),
  /** The hand-off by which it has taken the session over; null: it watches. */
  handoff: z.string().nullable(),
  fps: z.number(),
  quality: z.number(),
  maxWidth: z.number(),
  /** The page that it has chosen; null: the active one. */
  page: z.string().nullable(),
  /** When its token expires, in ms since the epoch; null: it came with a key. */
  expiresAt: z.number().nullable(),
  /** Forbidden messages so far. */
  faults: z.number(),
});
export type ViewerFacts = z.infer<typeof ViewerFacts>;

/** The newest frame of a page, as the pool sent it. */
export interface Frame {
  page: string;
  seq: number;
  bytes: ArrayBuffer;
}

type Refused = Extract<TextMessage, { type: "error" }>["code"];

/** A viewer of a session. Nothing is queued for a viewer: the newest frame is sent when those before were taken. */
export class Viewer {
  readonly socket: WebSocket;
  #facts: ViewerFacts;
  #frames: number[] = [];
  #tabs: number[] = [];
  /** The frame that it shows. */
  #shown: Pick<Frame, "page" | "seq"> | null = null;
  /** The newest tabs that it was told. */
  #toldTabs = 0;
  #dueAt = 0;
  /** Refusals that it was told since it last acknowledged anything. */
  #complaints = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(socket: WebSocket, facts: ViewerFacts) {
    this.socket = socket;
    this.#facts = facts;
    this.#keep({});
  }

  get facts(): ViewerFacts {
    return this.#facts;
  }

  /** Whether it would take a frame as soon as one is due. */
  get hasRoom(): boolean {
    return this.#frames.length < LIMITS.framesUnacked;
  }

  choose(options: ViewerOptions): void {
    this.#keep(options);
  }

  /** Counts a forbidden message; answers how many there are by now. */
  fault(): number {
    this.#keep({ faults: this.#facts.faults + 1 });
    return this.#facts.faults;
  }

  tell(message: Exclude<TextMessage, PagesMessage>): void {
    this.#send(JSON.stringify(message));
  }

  /** Tells it why something is refused; not for ever to one that does not read. */
  refuse(code: Refused, message: string): void {
    this.#complaints += 1;
    if (this.#complaints <= LIMITS.refusalsTold) this.tell({ type: "error", code, message });
  }

  /** Sends the tabs, unless too many changes of them are on their way already. */
  tellPages(message: PagesMessage): void {
    if (message.seq <= this.#toldTabs || this.#tabs.length >= LIMITS.pagesUnacked) return;
    this.#toldTabs = message.seq;
    this.#tabs.push(message.seq);
    this.#send(JSON.stringify(message));
  }

  /** Sends a frame that it has room for and does not have. One that is not due yet is asked for again by `later`. */
  offer(frame: Frame, later: () => void): void {
    if (!this.hasRoom || this.#shows(frame)) return;
    const now = Date.now();
    if (now < this.#dueAt) {
      this.#timer ??= setTimeout(() => {
        this.#timer = null;
        later();
      }, this.#dueAt - now);
      return;
    }
    const everyMs = SECOND_MS / this.#facts.fps;
    this.#dueAt = Math.max(this.#dueAt + everyMs, now + everyMs / 2);
    this.#shown = { page: frame.page, seq: frame.seq };
    this.#frames.push(frame.seq);
    this.#send(frame.bytes);
  }

  /** The viewer has taken all up to this message. A number that was not sent says nothing: its viewer may not read at all. */
  acked(seq: number): void {
    if (!this.#frames.includes(seq) && !this.#tabs.includes(seq)) return;
    this.#complaints = 0;
    this.#frames = this.#frames.filter((each) => each > seq);
    this.#tabs = this.#tabs.filter((each) => each > seq);
  }

  /** Pages have gone: a chosen one gives way to the active one. */
  forget(isThere: (page: string) => boolean): void {
    const { page } = this.#facts;
    if (page !== null && !isThere(page)) this.#keep({ page: null });
  }

  close(code: number, reason: string): void {
    this.stop();
    try {
      this.socket.close(code, reason);
    } catch {
      // The socket has closed meanwhile.
    }
  }

  /** The viewer has gone. */
  stop(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #shows({ page, seq }: Frame): boolean {
    return this.#shown?.page === page && this.#shown.seq >= seq;
  }

  #keep(changed: ViewerOptions & Partial<ViewerFacts>): void {
    this.#facts = { ...this.#facts, ...changed };
    this.socket.serializeAttachment(this.#facts);
  }

  #send(message: string | ArrayBuffer): void {
    try {
      this.socket.send(message);
    } catch {
      // The socket has closed meanwhile: its event is on its way.
    }
  }
}
