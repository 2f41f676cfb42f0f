import type { Readable } from "node:stream";
import { DROP_PAUSE_MS } from "../launch/reading.ts";
import type { Turns } from "./turns.ts";

/** Reads a stream in the turns of its session, and not at all while somebody holds it. */
export class Intake {
  readonly #source: Readable;
  readonly #turns: Turns;
  readonly #take: (chunk: Buffer) => number;
  #rest: Buffer | null = null;
  #holders = 0;
  #isFree = false;
  #isTaking = false;
  #isWaiting = false;

  /** `take`: works on the beginning of a chunk, and returns how many bytes that was. */
  constructor(source: Readable, turns: Turns, take: (chunk: Buffer) => number) {
    this.#source = source;
    this.#turns = turns;
    this.#take = take;
  }

  /** Starts to read. `early`: bytes that came before. */
  start(early?: Buffer): void {
    if (early && early.length > 0) this.#push(early);
    this.#source.on("data", (chunk: Buffer) => this.#push(chunk));
    if (this.#isHeld) this.#source.pause();
  }

  /** Stops reading until every holder has released the stream. */
  hold(): void {
    this.#holders += 1;
    if (!this.#isFree) this.#source.pause();
  }

  release(): void {
    this.#holders -= 1;
    this.#go();
  }

  /** Reads whoever holds the stream, but slowly: what comes is thrown away. */
  free(): void {
    this.#isFree = true;
    this.#go();
  }

  get #isHeld(): boolean {
    return (this.#holders > 0 && !this.#isFree) || this.#isWaiting;
  }

  #push(chunk: Buffer): void {
    this.#rest = this.#rest ? Buffer.concat([this.#rest, chunk]) : chunk;
    this.#go();
  }

  #go(): void {
    if (this.#isTaking) return;
    this.#isTaking = true;
    while (this.#rest && !this.#isHeld) this.#step(this.#rest);
    this.#isTaking = false;
    if (!this.#rest && !this.#isHeld && this.#source.isPaused()) this.#source.resume();
  }

  #step(chunk: Buffer): void {
    if (!this.#turns.hasTime) return this.#wait((go) => this.#turns.wait(go));
    const taken = this.#take(chunk);
    this.#rest = taken < chunk.length ? chunk.subarray(taken) : null;
    if (this.#isFree && !this.#rest) this.#wait((go) => setTimeout(go, DROP_PAUSE_MS).unref());
  }

  #wait(later: (go: () => void) => void): void {
    this.#isWaiting = true;
    this.#source.pause();
    later(() => {
      this.#isWaiting = false;
      this.#go();
    });
  }
}
