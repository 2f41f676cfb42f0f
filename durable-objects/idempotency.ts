import { LIMITS } from "@svc/contract/limits.ts";
import { DurableObject } from "cloudflare:workers";
import { eventOrTimeout } from "./deadline.ts";

/** An answer as it was given: replayed to the byte. */
export interface RememberedAnswer {
  status: number;
  contentType: string;
  body: string;
}

/** `run`: the caller shall do it and call `finish`. `reused`: the key stands for another request. */
export type IdempotencyVerdict =
  | { type: "run" }
  | { type: "reused" }
  | { type: "replay"; answer: RememberedAnswer };

interface Remembered {
  fingerprint: string;
  answer: RememberedAnswer;
}

const KEY = "remembered";

/** One (org, Idempotency-Key): runs a request once, lets its repeats wait, and replays a success for 24 h. */
export class IdempotencyDO extends DurableObject<Env> {
  #running: { fingerprint: string; until: number; done: Promise<void>; end: () => void } | null =
    null;

  /** What the holder of a request shall do. Waits while the same request runs. */
  async begin(fingerprint: string): Promise<IdempotencyVerdict> {
    for (;;) {
      const remembered = this.ctx.storage.kv.get<Remembered>(KEY);
      if (remembered) return verdictOn(remembered, fingerprint);
      const running = this.#running;
      const left = running ? running.until - Date.now() : 0;
      if (!running || left <= 0) {
        this.#run(fingerprint);
        return { type: "run" };
      }
      if (running.fingerprint !== fingerprint) return { type: "reused" };
      await eventOrTimeout(running.done, left);
    }
  }

  /** Ends a run: a success is remembered, a failure (null) is not, and the first waiting repeat runs. */
  async finish(fingerprint: string, answer: RememberedAnswer | null): Promise<void> {
    if (answer) {
      this.ctx.storage.kv.put<Remembered>(KEY, { fingerprint, answer });
      await this.ctx.storage.setAlarm(Date.now() + LIMITS.idempotencyMs);
    }
    this.#running?.end();
    this.#running = null;
  }

  override async alarm(): Promise<void> {
    await this.ctx.storage.deleteAll();
  }

  #run(fingerprint: string): void {
    let end = (): void => undefined;
    const done = new Promise<void>((resolve) => (end = resolve));
    this.#running = { fingerprint, until: Date.now() + LIMITS.idempotentRunMs, done, end };
  }
}

function verdictOn({ fingerprint, answer }: Remembered, asked: string): IdempotencyVerdict {
  return fingerprint === asked ? { type: "replay", answer } : { type: "reused" };
}
