import type { CdpSession } from "@svc/sdk/cdp.ts";

type Fields = Record<string, unknown>;

/** An object of the browser, as `Runtime` answers it. */
export interface RemoteObject {
  type: string;
  subtype?: string;
  className?: string;
  value?: unknown;
  unserializableValue?: string;
  description?: string;
  objectId?: string;
}

/** The answer of an evaluation. */
export interface Evaluated {
  result: RemoteObject;
  exceptionDetails?: { text: string; exception?: RemoteObject };
}

/** The receiver of calls, and when it ends. */
export interface Attachment {
  session: CdpSession;
  signal: AbortSignal;
  /** Rejects when the target has gone: the browser answers no calls then. */
  gone: Promise<never>;
}

/** How long a page's answer is waited for. */
export const ANSWER_MS = 10_000;
const WORLD = "svc";

/** An attached target: a tab, or a frame that has a process of its own. */
export class Attached {
  readonly #of: Attachment;
  readonly #worlds = new Map<string, Promise<number>>();

  constructor(of: Attachment) {
    this.#of = of;
  }

  get signal(): AbortSignal {
    return this.#of.signal;
  }

  send(method: string, params: object = {}, timeoutMs = ANSWER_MS): Promise<Fields> {
    const { session, signal, gone } = this.#of;
    return Promise.race([session.send(method, params, { signal, timeoutMs }), gone]);
  }

  /** The isolated world of a frame. */
  world(frameId: string, timeoutMs = ANSWER_MS): Promise<number> {
    const known = this.#worlds.get(frameId);
    if (known) return known;
    const params = { frameId, worldName: WORLD };
    const made = this.send("Page.createIsolatedWorld", params, timeoutMs).then(
      ({ executionContextId }) => Number(executionContextId),
    );
    this.#worlds.set(frameId, made);
    return made;
  }

  /** The documents have changed: their worlds are no more. */
  forgetWorlds(): void {
    this.#worlds.clear();
  }

  /** Calls a function on an object, or in a frame, and answers a copy of its result. */
  async run<Result>(
    script: string,
    on: { objectId: string } | { frameId: string },
    args: readonly object[] = [],
    timeoutMs = ANSWER_MS,
  ): Promise<Result> {
    const answered = await this.call(script, on, args, true, timeoutMs);
    const { result, exceptionDetails } = answered;
    if (exceptionDetails)
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value as Result;
  }

  async call(
    functionDeclaration: string,
    on: { objectId: string } | { frameId: string },
    args: readonly object[],
    returnByValue: boolean,
    timeoutMs = ANSWER_MS,
  ): Promise<Evaluated> {
    const where =
      "objectId" in on
        ? { objectId: on.objectId }
        : { executionContextId: await this.world(on.frameId, timeoutMs) };
    const params = { functionDeclaration, ...where, arguments: args, returnByValue };
    return (await this.send("Runtime.callFunctionOn", params, timeoutMs)) as unknown as Evaluated;
  }
}
