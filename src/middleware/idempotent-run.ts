import { LIMITS } from "@svc/contract/limits.ts";
import { logOf } from "@svc/contract/log.ts";
import type { RememberedAnswer } from "../../durable-objects/idempotency.ts";
import { atMost } from "../../durable-objects/live/deadline.ts";
import type { AppContext } from "../context.ts";

const log = logOf("src");

/** Pauses between the tries to record a run: doubled from the first to the longest. */
const RETRIES = { firstMs: 250, mostMs: 10_000 };

/** A run of a request with an Idempotency-Key that is over. */
export interface EndedRun {
  /** The name of the key's object. */
  name: string;
  runId: string;
  /** In ms since the epoch. */
  begunAt: number;
  /** What its repeats are answered; null when they shall run by themselves. */
  answer: RememberedAnswer | null;
}

/**
 * Records how a run ended. What the run made is there, so that its caller has the answer even if the record fails: the
 * record is then tried again in the background, for as long as a repeat waits for the run.
 */
export async function finish(c: AppContext, run: EndedRun): Promise<void> {
  try {
    await record(c.env, run);
  } catch (error) {
    const requestId = c.get("requestId");
    log.error("idempotency_not_recorded", { requestId, reason: error });
    c.executionCtx.waitUntil(recordLater(c.env, run, requestId));
  }
}

/** By a stub of its own: a stub that has failed once may go on failing. */
function record(env: Env, { name, runId, answer }: EndedRun): Promise<void> {
  const recording = env.IDEMPOTENCY.getByName(name).finish(runId, answer);
  return atMost(LIMITS.objectCallMs, recording);
}

async function recordLater(env: Env, run: EndedRun, requestId: string): Promise<void> {
  const voidAt = run.begunAt + LIMITS.idempotentRunMs;
  let reason: unknown = "no time was left";
  for (let pauseMs = RETRIES.firstMs; Date.now() + pauseMs < voidAt;) {
    await scheduler.wait(pauseMs);
    pauseMs = Math.min(2 * pauseMs, RETRIES.mostMs);
    try {
      await record(env, run);
      log.info("idempotency_recorded_late", { requestId });
      return;
    } catch (error) {
      reason = error;
    }
  }
  log.error("idempotency_lost", { requestId, reason });
}
