import type { FrameHead } from "@svc/contract/browser/observer.ts";
import * as z from "zod";
import type { CdpEvent, OwnClient } from "../cdp/own-client.ts";
import { jpegSize } from "./jpeg-size.ts";

const SECOND_MS = 1_000;
/** Between pictures that follow each other so soon, and after them, the browser may have left out one. */
const DENSE_MS = 1_000;
/** Time from the last of such pictures to one more. */
const REST_MS = 500;

const Frame = z.object({
  data: z.string(),
  /** Not a session of the protocol: the number of the screencast. */
  sessionId: z.number(),
  metadata: z.object({
    deviceWidth: z.number().positive(),
    scrollOffsetX: z.number(),
    scrollOffsetY: z.number(),
    timestamp: z.number().optional(),
  }),
});

/** How the pictures of a screencast are made. */
export interface Picture {
  quality: number;
  maxWidth: number;
}

/** A picture of a page, and what is known of it before it is sent. */
export interface Shot {
  head: Omit<FrameHead, "seq">;
  jpeg: Buffer;
}

/**
 * The pictures of one page, from the start of the screencast on: a page that stands still gives one, then none until it
 * changes, and one more when it comes to rest: a busy browser leaves out pictures, also that of the last change. No domain
 * is enabled for it: with `Page.enable` dialogs would wait for an answer.
 */
export class Screencast {
  readonly page: string;
  readonly #client: OwnClient;
  readonly #onShot: () => void;
  #picture: Picture;
  #sessionId: string | null = null;
  #isStopped = false;
  #shot: Shot | null = null;
  #shotAt = -Infinity;
  #begunAt = -Infinity;
  #rest: NodeJS.Timeout | undefined;

  constructor(client: OwnClient, page: string, picture: Picture, onShot: () => void) {
    this.page = page;
    this.#client = client;
    this.#picture = picture;
    this.#onShot = onShot;
    void this.#attach();
  }

  /** The newest picture; null before the first. */
  get shot(): Shot | null {
    return this.#shot;
  }

  /** The session that its events name. */
  get sessionId(): string | null {
    return this.#sessionId;
  }

  /** Makes the pictures in another way. */
  change(picture: Picture): void {
    const { quality, maxWidth } = this.#picture;
    if (quality === picture.quality && maxWidth === picture.maxWidth) return;
    this.#picture = picture;
    this.#begin();
  }

  hear({ method, params }: CdpEvent): void {
    if (method !== "Page.screencastFrame") return;
    const frame = Frame.safeParse(params).data;
    if (!frame) return;
    // At once: the browser skips what changes while too many frames wait, also a last change that nothing follows.
    void this.#call("Page.screencastFrameAck", { sessionId: frame.sessionId });
    const shot = shotOf(this.page, frame);
    if (!shot) return;
    this.#shot = shot;
    this.#awaitRest();
    this.#onShot();
  }

  #awaitRest(): void {
    const now = performance.now();
    // The first picture after a beginning is that of a page at rest.
    const isDense = now - this.#shotAt < DENSE_MS && now - this.#begunAt > DENSE_MS;
    this.#shotAt = now;
    if (!isDense && this.#rest === undefined) return;
    clearTimeout(this.#rest);
    this.#rest = setTimeout(() => {
      this.#rest = undefined;
      this.#begin();
    }, REST_MS);
  }

  /** Begins the pictures anew, with one of now. */
  #begin(): void {
    this.#begunAt = performance.now();
    void this.#call("Page.stopScreencast").then(() => this.#start());
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#rest);
    const sessionId = this.#sessionId;
    this.#sessionId = null;
    if (sessionId) void this.#client.call("Target.detachFromTarget", { sessionId }).catch(() => {});
  }

  async #attach(): Promise<void> {
    const target = { targetId: this.page, flatten: true };
    const { sessionId } = await this.#client
      .call("Target.attachToTarget", target)
      // The page has gone meanwhile: the tabs tell.
      .catch(() => ({ sessionId: null }));
    if (typeof sessionId !== "string") return;
    this.#sessionId = sessionId;
    if (this.#isStopped) this.stop();
    else await this.#start();
  }

  async #start(): Promise<void> {
    const { quality, maxWidth } = this.#picture;
    await this.#call("Page.startScreencast", { format: "jpeg", quality, maxWidth });
  }

  async #call(method: string, params = {}): Promise<void> {
    if (this.#sessionId === null) return;
    // A page that has gone answers with an error: its screencast is stopped then.
    await this.#client.call(method, params, this.#sessionId).catch(() => {});
  }
}

function shotOf(page: string, { data, metadata }: z.infer<typeof Frame>): Shot | null {
  const jpeg = Buffer.from(data, "base64");
  const size = jpegSize(jpeg);
  if (!size) return null;
  const { deviceWidth, scrollOffsetX: sx, scrollOffsetY: sy, timestamp } = metadata;
  const ts = timestamp === undefined ? Date.now() : Math.round(timestamp * SECOND_MS);
  return { head: { ts, page, ...size, scale: size.w / deviceWidth, sx, sy }, jpeg };
}
