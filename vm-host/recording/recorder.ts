import { setTimeout as wait } from "node:timers/promises";
import type { Duplex } from "node:stream";
import { PART_MS, partName } from "@svc/contract/host-protocol/recording-part.ts";
import { LATE, inTime } from "@svc/host-kit/deadline.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import type { Size } from "../screen/messages.ts";
import { type Picture, RfbClient } from "../screen/rfb-client.ts";
import { clusterOf } from "./cluster.ts";
import { type Bounds, Vp8Encoder } from "./vp8.ts";

/** Pictures of a common screen lie at least so far apart; those of a larger one further, as it has more to encode. */
const FRAME_MS = 250;
const COMMON_PIXELS = 1280 * 720;
/** After another size, and after a fault. */
const REST_MS = 1_000;
/** So long the last picture is shown when nothing has changed for long. */
const LAST_MS = 1_000;

export interface RecorderOptions extends Bounds {
  dial: () => Promise<Duplex>;
  /** Of the whole recording, whatever size the screen takes. */
  size: Size;
  /** Takes a finished part. Throws when it is lost. */
  store: (name: string, part: Buffer) => Promise<void>;
  log: Log;
}

/** A part that is being made. */
interface Part {
  encoder: Vp8Encoder;
  startedMs: number;
  /** Of its pictures, from its start on. */
  timesMs: number[];
}

/** Records one screen from now on, until it is closed: a picture whenever it has changed, in parts that stand for themselves. */
export class Recorder {
  readonly #options: RecorderOptions;
  readonly #runAt = Date.now();
  readonly #startedAt = performance.now();
  readonly #closing = new AbortController();
  readonly #done: Promise<void>;
  #client: RfbClient | null = null;
  #part: Part | null = null;
  #last: Picture | null = null;
  /** Until when there are parts. */
  #storedMs = 0;
  #isCut = false;
  /** When it was closed: nothing of it lies later. */
  #endMs: number | null = null;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#done = this.#run();
  }

  /** Ends the recording at this moment; resolves when its last part was handed on. */
  async close(): Promise<void> {
    this.#endMs ??= this.#nowMs;
    this.#closing.abort();
    this.#client?.close();
    await this.#done;
  }

  get #nowMs(): number {
    return this.#endMs ?? performance.now() - this.#startedAt;
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    let isTold = false;
    while (!signal.aborted) {
      try {
        this.#client = await RfbClient.open(await this.#options.dial());
        isTold = false;
        await this.#watch(this.#client);
      } catch (error) {
        // A screen that has ended is up again in a moment.
        if (!signal.aborted && !isTold)
          this.#options.log.warn({ reason: messageOf(error) }, "screen_not_recorded");
        isTold = true;
      }
      this.#client?.close();
      await this.#finish();
      await this.#rest(REST_MS);
    }
    await this.#end();
  }

  async #watch(client: RfbClient): Promise<void> {
    const { signal } = this.#closing;
    if (signal.aborted) return client.close();
    let next = client.capture();
    for (;;) {
      const picture = await this.#inPart(next);
      if (picture === LATE) {
        await this.#finish();
        continue;
      }
      const isOtherSize = this.#last !== null && !isSame(this.#last, picture);
      this.#last = picture;
      await this.#add(picture);
      await this.#rest(isOtherSize ? REST_MS : intervalOf(picture));
      if (signal.aborted) return;
      next = client.change().then(({ picture: changed }) => changed);
    }
  }

  /** The next picture, or LATE when the part that is being made is long enough before there is one. */
  async #inPart(next: Promise<Picture>): Promise<Picture | typeof LATE> {
    if (!this.#part) return next;
    next.catch(() => null);
    return inTime(next, Math.max(0, this.#part.startedMs + PART_MS - this.#nowMs));
  }

  async #add(picture: Picture, atMs = this.#nowMs): Promise<void> {
    const part = this.#part;
    const isOver = part && atMs + FRAME_MS > part.startedMs + PART_MS;
    if (part && (isOver || !isSame(part.encoder.size, picture))) await this.#finish(atMs);
    this.#part ??= this.#begin(picture, atMs);
    const { encoder, startedMs, timesMs } = this.#part;
    timesMs.push(atMs - startedMs);
    await encoder.add(picture.pixels);
  }

  #begin({ width, height }: Size, startedMs: number): Part {
    const { size } = this.#options;
    return {
      encoder: new Vp8Encoder({ width, height }, size, this.#options),
      startedMs,
      timesMs: [],
    };
  }

  /** Hands on the part that is being made. A part that is lost does not end the recording: the next one says it. */
  async #finish(endMs = this.#nowMs): Promise<void> {
    const part = this.#part;
    this.#part = null;
    if (!part) return;
    const { encoder, startedMs, timesMs } = part;
    try {
      const cluster = clusterOf(await encoder.finish(), timesMs);
      const durationMs = Math.min(endMs - startedMs, PART_MS);
      const place = { runAt: this.#runAt, offsetMs: startedMs, durationMs, isCut: this.#isCut };
      await this.#options.store(partName(place), cluster);
      this.#isCut = false;
      this.#storedMs = startedMs + durationMs;
    } catch (error) {
      if (!this.#isCut) this.#options.log.warn({ reason: messageOf(error) }, "recording_cut");
      this.#isCut = true;
    }
  }

  /** A recording that ends on a still picture lasts until its end. */
  async #end(): Promise<void> {
    const endMs = this.#nowMs;
    const startedMs = Math.max(this.#storedMs, endMs - LAST_MS);
    if (!this.#last || startedMs >= endMs) return;
    try {
      await this.#add(this.#last, startedMs);
    } catch (error) {
      this.#options.log.warn({ reason: messageOf(error) }, "recording_cut");
    }
    await this.#finish(endMs);
  }

  async #rest(ms: number): Promise<void> {
    const { signal } = this.#closing;
    await wait(ms, null, { ref: false, signal }).catch(() => null);
  }
}

const isSame = (one: Size, other: Size): boolean =>
  one.width === other.width && one.height === other.height;

const intervalOf = ({ width, height }: Size): number =>
  FRAME_MS * Math.max(1, (width * height) / COMMON_PIXELS);
