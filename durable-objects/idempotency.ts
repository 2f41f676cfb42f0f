import { LIMITS } from "@svc/contract/limits.ts";
import { isRecent } from "@svc/contract/time.ts";
import { DurableObject } from "cloudflare:workers";
import { Signal } from "./live/signal.ts";

/** An answer as it was given: replayed to the byte. */
export interface RememberedAnswer {
  status: number;
  contentType: string;
  body: string;
}

/** `run`: the caller shall do it and call `finish`. `reused`: the key stands for another request. */
export type IdempotencyVerdict =
  | { type: "run"; runId: string }
  | { type: "reused" }
  | { type: "replay"; answer: RememberedAnswer };

/** What is stored for a key. A run that nobody finished is void at `until`. */
type StoredRun =
  | { type: "running"; fingerprint: string; runId: string; until: number }
  | { type: "remembered"; fingerprint: string; answer: RememberedAnswer };

const KEY = "kept";

/** One (org, Idempotency-Key): runs a request once, lets its repeats wait, and replays a success for 24 h. */
export class IdempotencyDO extends DurableObject<Env> {
  readonly #finished = new Signal();

  /** What the caller shall do with a request. Waits while the same request runs. */
  async begin(fingerprint: string): Promise<IdempotencyVerdict> {
    for (;;) {
      const kept = this.#load();
      if (!kept) return { type: "run", runId: await this.#run(fingerprint) };
      if (kept.fingerprint !== fingerprint) return { type: "reused" };
      if (kept.type === "remembered") return { type: "replay", answer: kept.answer };
      await this.#finished.next(Math.max(kept.until - Date.now(), 1));
    }
  }

  /** Ends a run: a success is remembered, a failure (null) is not, and the first waiting repeat runs. */
  async finish(runId: string, answer: RememberedAnswer | null): Promise<void> {
    const kept = this.#load();
    if (kept?.type !== "running" || kept.runId !== runId) return;
    if (answer) await this.#remember(kept.fingerprint, answer);
    else await this.#forget();
    this.#finished.send();
  }

  override async alarm(): Promise<void> {
    await this.ctx.storage.deleteAll();
  }

  #load(): StoredRun | null {
    const kept = this.ctx.storage.kv.get<StoredRun>(KEY) ?? null;
    return kept?.type === "running" &&
      !isRecent(kept.until - LIMITS.idempotentRunMs, LIMITS.idempotentRunMs, Date.now())
      ? null
      : kept;
  }

  /** Stored before the request runs: the object may be evicted while it does. */
  async #run(fingerprint: string): Promise<string> {
    const runId = crypto.randomUUID();
    const until = Date.now() + LIMITS.idempotentRunMs;
    this.ctx.storage.kv.put<StoredRun>(KEY, { type: "running", fingerprint, runId, until });
    await this.ctx.storage.setAlarm(until);
    return runId;
  }

  async #remember(fingerprint: string, answer: RememberedAnswer): Promise<void> {
    this.ctx.storage.kv.put<StoredRun>(KEY, { type: "remembered", fingerprint, answer });
    await this.ctx.storage.setAlarm(Date.now() + LIMITS.idempotencyMs);
  }

  async #forget(): Promise<void> {
    this.ctx.storage.kv.delete(KEY);
    await this.ctx.storage.deleteAlarm();
  }
}
