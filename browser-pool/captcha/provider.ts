import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "@svc/host-kit/log.ts";
import * as z from "zod";
import type { Challenge } from "./challenge.ts";
import { type ProviderName, blameOf, taskOf } from "./dialects.ts";

/** An answer is shorter: a token has some kilobytes. */
const ANSWER_BYTES = 64 * 1024;
/** Between the questions whether a task is done; the last one again and again. */
const POLLS_MS = [1_000, 2_000, 3_000];
/** A task is paid: a question that fails is asked again before the task is given up. */
const LOST_POLLS = 3;
/** How long a provider that takes no task of the key is left alone; then it is asked whether it does now. */
const REST_MS = 60_000;

const CODE = /^[A-Z0-9_]{1,60}$/;
const Answer = z.object({
  errorId: z.number().default(0),
  errorCode: z.string().nullish(),
  taskId: z.union([z.number(), z.string().min(1).max(200)]).nullish(),
  status: z.string().nullish(),
  solution: z
    .object({ token: z.string().nullish(), gRecaptchaResponse: z.string().nullish() })
    .nullish(),
});
type Answer = z.infer<typeof Answer>;
/** Visible characters alone: a token goes into a field of the page. */
const TOKEN = /^[\x21-\x7e]{1,16384}$/;

/** Why a challenge was not solved. `isFinal`: another try cannot help. Holds no word of the provider but its error code. */
export class SolveFault extends Error {
  readonly isFinal: boolean;

  constructor(why: string, isFinal = false) {
    super(why);
    this.isFinal = isFinal;
  }
}

export interface CaptchaProviderOptions {
  name: ProviderName;
  url: string;
  key: string;
  /** How long a provider may take to answer a call. */
  callMs: number;
  log: Log;
}

/** A provider of solutions, in the dialect of createTask and getTaskResult. One for all sessions of the pool. */
export class CaptchaProvider {
  readonly #options: CaptchaProviderOptions;
  /** How often it has said that it takes no task of the key. */
  #refusals = 0;
  #again: NodeJS.Timeout | null = null;
  #isAtWork = true;

  constructor(options: CaptchaProviderOptions) {
    this.#options = options;
  }

  get name(): ProviderName {
    return this.#options.name;
  }

  /** Whether it takes tasks, as far as is known. */
  get isAtWork(): boolean {
    return this.#isAtWork;
  }

  /** Asks for the balance, which costs nothing: whether the key is taken. One that does not say is taken to be at work. */
  async check(): Promise<void> {
    const { callMs } = this.#options;
    const refusals = this.#refusals;
    await this.#call("getBalance", {}, AbortSignal.timeout(callMs)).catch(() => {});
    if (this.#refusals === refusals) this.#isAtWork = true;
  }

  /** The token that solves a challenge. Rejects with a `SolveFault`, or with the reason of `signal`. */
  async solve(challenge: Challenge, signal: AbortSignal): Promise<string> {
    if (!this.isAtWork) throw new SolveFault("the provider takes no tasks of this pool", true);
    const task = taskOf(this.#options.name, challenge);
    const { taskId } = await this.#call("createTask", { task }, signal);
    if (taskId === null || taskId === undefined) throw new SolveFault("the provider names no task");
    let lost = 0;
    for (let polls = 0; ; polls += 1) {
      await sleep(POLLS_MS[Math.min(polls, POLLS_MS.length - 1)], null, { signal });
      const answer = await this.#call("getTaskResult", { taskId }, signal).catch((error) => {
        lost += 1;
        if (!(error instanceof LostCall) || lost > LOST_POLLS) throw error;
        return null;
      });
      if (answer === null) continue;
      lost = 0;
      const token = tokenIn(answer);
      if (token !== null) return token;
    }
  }

  async #call(method: string, body: object, signal: AbortSignal): Promise<Answer> {
    const { url, key, callMs } = this.#options;
    const late = AbortSignal.timeout(callMs);
    let text: string;
    try {
      const response = await fetch(`${url.replace(/\/+$/, "")}/${method}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ clientKey: key, ...body }),
        // Followed, a redirect would take the key elsewhere.
        redirect: "error",
        signal: AbortSignal.any([signal, late]),
      });
      text = await textOf(response);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof SolveFault) throw error;
      throw new LostCall(
        late.aborted ? "the provider does not answer in time" : "the provider is not reached",
      );
    }
    return this.#judge(text);
  }

  #judge(text: string): Answer {
    const read = Answer.safeParse(jsonOf(text));
    if (!read.success) throw new LostCall("the provider answers something else");
    const { errorId, errorCode } = read.data;
    if (errorId === 0) return read.data;
    const code = errorCode && CODE.test(errorCode) ? errorCode : "an error without a code";
    const blame = blameOf(code);
    if (blame === "key") this.#rest(code);
    throw new SolveFault(code, blame !== "try");
  }

  #rest(reason: string): void {
    this.#refusals += 1;
    if (this.#isAtWork)
      this.#options.log.error({ provider: this.name, reason }, "captcha_provider_refuses");
    this.#isAtWork = false;
    if (this.#again) return;
    this.#again = setTimeout(() => {
      this.#again = null;
      void this.check();
    }, REST_MS).unref();
  }
}

/** A call that came to nothing; the task may be alive. */
class LostCall extends SolveFault {}

/** The token of an answer; null while the task is not done. */
function tokenIn({ status, solution }: Answer): string | null {
  if (status === "processing" || status === "idle") return null;
  if (status !== "ready") throw new SolveFault("the provider has given the task up");
  const token = solution?.token ?? solution?.gRecaptchaResponse ?? "";
  if (!TOKEN.test(token)) throw new SolveFault("the provider's solution is no token");
  return token;
}

async function textOf(response: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of response.body ?? []) {
    size += piece.length;
    if (size > ANSWER_BYTES) throw new LostCall("the provider's answer does not end");
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
