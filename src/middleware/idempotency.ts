import { sha256 } from "@svc/contract/digest.ts";
import { ApiError } from "@svc/contract/errors.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import type { Operation } from "@svc/contract/operations/operation.ts";
import type { MiddlewareHandler } from "hono";
import type { RememberedAnswer } from "../../durable-objects/idempotency.ts";
import { atMost } from "../../durable-objects/live/deadline.ts";
import { textOf } from "../body.ts";
import type { AppContext, AppEnv } from "../context.ts";
import { reach } from "../objects.ts";
import { finish } from "./idempotent-run.ts";

/** Runs an operation once for an (org, Idempotency-Key), and replays its success (document 2, Idempotency). */
export function idempotency(op: Operation): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const key = c.req.header("idempotency-key");
    if (key === undefined || !op.idempotent) return next();
    checkKey(key);
    const name = `${c.get("caller").orgId} ${key}`;
    const fingerprint = await fingerprintOf(op, c.req.path, await textOf(c));
    const begunAt = Date.now();
    const asking = () => c.env.IDEMPOTENCY.getByName(name).begin(fingerprint);
    const verdict = await reach(() => atMost(LIMITS.idempotentWaitMs, asking()));
    if (verdict.type === "reused") throw reused();
    if (verdict.type === "replay") return replay(verdict.answer);
    const run = async (): Promise<void> => {
      // Hono turns a throw of the handler into c.res before this goes on.
      await next();
      const { runId } = verdict;
      await finish(c, { name, runId, begunAt, answer: await remembered(c) });
    };
    const running = run();
    // Run to its end even when the client has gone meanwhile: that is what it will ask for again.
    c.executionCtx.waitUntil(running);
    await running;
  };
}

function checkKey(key: string): void {
  if (key.length >= 1 && key.length <= LIMITS.idempotencyKeyCharacters) return;
  const text = `Idempotency-Key: 1 to ${LIMITS.idempotencyKeyCharacters} characters.`;
  throw new ApiError("InvalidIdempotencyKey", text);
}

const reused = (): ApiError =>
  new ApiError("IdempotencyKeyReused", "This Idempotency-Key was used for another request.");

function replay({ status, contentType, body }: RememberedAnswer): Response {
  const headers = { "content-type": contentType, "idempotent-replayed": "true" };
  return new Response(body, { status, headers });
}

async function remembered(c: AppContext): Promise<RememberedAnswer | null> {
  const { status, headers } = c.res;
  if (status < 200 || status > 299) return null;
  const contentType = headers.get("content-type") ?? "application/json";
  return { status, contentType, body: await c.res.clone().text() };
}

/** The same for the same route and body, whatever the order of the body's keys. */
function fingerprintOf(op: Operation, path: string, text: string): Promise<string> {
  return sha256(`${op.method} ${path} ${canonical(text)}`);
}

function canonical(text: string): string {
  try {
    return JSON.stringify(sorted(JSON.parse(text)));
  } catch {
    return text;
  }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]) => [key, sorted(inner)] as const);
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
