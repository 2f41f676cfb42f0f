const CHECK_MS = 1_000;

export interface GatewaySilenceOptions {
  /** How long the gateway may be silent while there are sessions. */
  graceMs: number;
  hasSessions: () => boolean;
  /** Called again and again while the gateway is silent and there are sessions. */
  onSilent: () => void;
}

/** Watches for a gateway that neither calls nor answers: its sessions belong to nobody then. */
export class GatewaySilence {
  readonly #options: GatewaySilenceOptions;
  readonly #timer: NodeJS.Timeout;
  /** Monotonic clock (`performance.now()`). */
  #heardAt = performance.now();

  constructor(options: GatewaySilenceOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#check(), CHECK_MS);
  }

  /** The gateway has called or answered. */
  heard(): void {
    this.#heardAt = performance.now();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    const { graceMs, hasSessions, onSilent } = this.#options;
    if (hasSessions() && performance.now() - this.#heardAt >= graceMs) onSilent();
  }
}
