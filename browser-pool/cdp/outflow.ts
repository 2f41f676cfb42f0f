import { LIMITS } from "@svc/contract/limits.ts";
import { STALL_MS } from "@svc/host-kit/backlog.ts";

const WATCH_MS = 1_000;

/** A client, as a receiver of the browser's messages. */
export interface Reader {
  /** Bytes given to its socket that its peer has not taken. */
  readonly waitingBytes: number;
  /** Bytes that ever left its socket: tells a slow peer from one that stopped reading. */
  readonly sentBytes: number;
  /** Cuts its socket. */
  cut(): void;
}

/** Stops reading from the browser, and goes on. */
interface Source {
  hold(): void;
  release(): void;
}

interface Seen {
  sentBytes: number;
  movedAt: number;
}

/**
 * Bounds the bytes that wait for the clients of one session, all together: stops their source while too many wait, and
 * cuts those that take nothing in this time.
 */
export class Outflow {
  readonly #source: Source;
  readonly #readers = new Map<Reader, Seen>();
  #timer: NodeJS.Timeout | null = null;

  constructor(source: Source) {
    this.#source = source;
  }

  add(reader: Reader): void {
    this.#readers.set(reader, { sentBytes: reader.sentBytes, movedAt: performance.now() });
  }

  remove(reader: Reader): void {
    this.#readers.delete(reader);
    this.check();
  }

  /** Call this after every write and whenever a socket has drained. */
  check(): void {
    let waiting = 0;
    for (const reader of this.#readers.keys()) waiting += reader.waitingBytes;
    if (!this.#timer && waiting > LIMITS.sessionHeldBytes) this.#stop();
    else if (this.#timer && waiting <= LIMITS.sessionHeldBytes / 2) this.#go();
  }

  #stop(): void {
    for (const [reader, seen] of this.#readers) {
      seen.sentBytes = reader.sentBytes;
      seen.movedAt = performance.now();
    }
    this.#timer = setInterval(() => this.#watch(), WATCH_MS);
    this.#source.hold();
  }

  #go(): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
    this.#source.release();
  }

  #watch(): void {
    const now = performance.now();
    for (const [reader, seen] of this.#readers) {
      const { sentBytes, waitingBytes } = reader;
      if (sentBytes !== seen.sentBytes || waitingBytes === 0) seen.movedAt = now;
      seen.sentBytes = sentBytes;
      if (now - seen.movedAt >= STALL_MS) reader.cut();
    }
    this.check();
  }
}
