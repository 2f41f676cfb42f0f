const CHECK_MS = 1_000;

/** With more bytes waiting for one client, its source is stopped. */
export const BACKLOG_BYTES = 64 * 1024 * 1024;
/** How long a client may take no byte before its socket is cut. */
export const STALL_MS = 10_000;

export interface BacklogOptions {
  /** Bytes given to the socket that its peer has not taken. */
  waitingBytes: () => number;
  /** Bytes that ever left the socket: tells a slow peer from one that stopped reading. */
  sentBytes: () => number;
  /** With more bytes waiting, the source stops until half of this is left. */
  highBytes: number;
  /** How long a peer may take nothing at all while the source is stopped. */
  stallMs: number;
  onHigh: () => void;
  onLow: () => void;
  onStalled: () => void;
}

/** Bounds the bytes that wait for one slow reader: stops its source while too many wait, and reports a reader that stalls. */
export class Backlog {
  readonly #options: BacklogOptions;
  #timer: NodeJS.Timeout | null = null;
  #sent = 0;
  #movedAt = 0;

  constructor(options: BacklogOptions) {
    this.#options = options;
  }

  /** Call this after every write and whenever the socket has drained. */
  check(): void {
    const waiting = this.#options.waitingBytes();
    if (!this.#timer && waiting > this.#options.highBytes) this.#stop();
    else if (this.#timer && waiting <= this.#options.highBytes / 2) this.close();
  }

  /** Lets the source go on: the reader is served or gone. */
  close(): void {
    if (!this.#timer) return;
    clearInterval(this.#timer);
    this.#timer = null;
    this.#options.onLow();
  }

  #stop(): void {
    this.#sent = this.#options.sentBytes();
    this.#movedAt = performance.now();
    this.#timer = setInterval(() => this.#watch(), CHECK_MS);
    this.#options.onHigh();
  }

  #watch(): void {
    this.check();
    const sent = this.#options.sentBytes();
    if (sent !== this.#sent) this.#movedAt = performance.now();
    this.#sent = sent;
    if (this.#timer && performance.now() - this.#movedAt >= this.#options.stallMs) {
      this.#options.onStalled();
      this.close();
    }
  }
}
