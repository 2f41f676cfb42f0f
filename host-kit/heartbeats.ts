import { type AnyHeartbeat, HeartbeatReply } from "@svc/contract/host-protocol/heartbeat.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { backoffMs } from "./backoff.ts";
import { type Log, messageOf } from "./log.ts";

const LAST_ANSWER_MS = 1_000;
const RETRIES = { firstMs: 200, mostMs: 2_000 };

export interface HeartbeatsOptions<Beat extends AnyHeartbeat> {
  gatewayUrl: string;
  hostId: string;
  hostToken: string;
  log: Log;
  /** How long a change that is not urgent waits for other changes; unset: not at all. */
  quietMs?: number;
  /** How the host calls its gateway. */
  call: typeof fetch;
  /** Builds the next heartbeat, with the next sequence number. */
  nextBeat: () => Beat;
  /** Called when the gateway has answered a heartbeat. */
  onAnswer: (reply: HeartbeatReply, beat: Beat) => void;
}

/**
 * Registers a host in the fleet and renews the registration. The first heartbeat registers; further ones follow every `pollMs`,
 * and after a change: `quietMs` later, or at once. Never two are under way, so that they arrive in order; changes meanwhile
 * make one more.
 */
export class Heartbeats<Beat extends AnyHeartbeat> {
  /** When the gateway answered last, or when this began. Monotonic clock (`performance.now()`). */
  answeredAt = performance.now();
  readonly #options: HeartbeatsOptions<Beat>;
  #isDirty = true;
  #isUrgent = false;
  #isQuiet = false;
  #isStopped = false;
  #failures = 0;
  readonly #stopping = new AbortController();
  #wake: () => void = () => {};
  #loop: Promise<void> | null = null;

  constructor(options: HeartbeatsOptions<Beat>) {
    this.#options = options;
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  /** Reports a change soon: `quietMs` later, together with other changes. */
  touch(): void {
    this.#isDirty = true;
    if (!this.#isQuiet) this.#stir();
  }

  /** Reports a change at once. */
  hurry(): void {
    this.#isDirty = true;
    this.#isUrgent = true;
    this.#stir();
  }

  // A gateway that is away is not asked more often because something changed here.
  #stir(): void {
    if (this.#failures === 0) this.#wake();
  }

  /** Sends one last heartbeat, and no more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#stopping.abort();
    this.#wake();
    await this.#loop;
    await this.#send(AbortSignal.timeout(LAST_ANSWER_MS)).catch(() => null);
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      this.#isDirty = false;
      this.#isUrgent = false;
      const pauseMs = await this.#beat();
      if (this.#failures > 0 || !this.#isDirty) await this.#sleep(pauseMs);
      if (this.#failures === 0 && this.#isDirty && !this.#isUrgent) await this.#beQuiet();
    }
  }

  /** Waits for more changes, so that one heartbeat tells them all. */
  async #beQuiet(): Promise<void> {
    this.#isQuiet = true;
    await this.#sleep(this.#options.quietMs ?? 0);
    this.#isQuiet = false;
  }

  /** Sends one heartbeat. Returns how long to wait for the next, in ms. */
  async #beat(): Promise<number> {
    const { log } = this.#options;
    try {
      const timeout = AbortSignal.timeout(LIMITS.heartbeatAnswerMs);
      const { pollMs } = await this.#send(AbortSignal.any([timeout, this.#stopping.signal]));
      if (this.#failures > 0) log.info({ failures: this.#failures }, "gateway_answers_again");
      this.#failures = 0;
      return Math.min(pollMs, LIMITS.hostSilenceMs / 2);
    } catch (error) {
      if (this.#isStopped) return 0;
      const reason = messageOf(error);
      if (this.#failures === 0) log.warn({ reason }, "heartbeat_unanswered");
      this.#failures += 1;
      return retryMs(this.#failures, Math.random());
    }
  }

  async #send(signal: AbortSignal): Promise<HeartbeatReply> {
    const { gatewayUrl, hostId, hostToken, call, nextBeat, onAnswer } = this.#options;
    const beat = nextBeat();
    const response = await call(new URL(`/internal/hosts/${hostId}/heartbeat`, gatewayUrl), {
      method: "POST",
      headers: { authorization: `Bearer ${hostToken}`, "content-type": "application/json" },
      body: JSON.stringify(beat),
      signal,
    });
    if (!response.ok) {
      await response.body?.cancel();
      throw new Error(`status ${response.status}`);
    }
    const reply = HeartbeatReply.parse(await response.json());
    this.answeredAt = performance.now();
    onAnswer(reply, beat);
    return reply;
  }

  #sleep(ms: number): Promise<void> {
    if (this.#isStopped) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** From 100 ms to 2 s, with jitter: a gateway that restarts sees its hosts soon, not all at once. */
export function retryMs(failures: number, random: number): number {
  return backoffMs(failures, RETRIES) * (0.5 + random / 2);
}
