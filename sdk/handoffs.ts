import type { Answered, Sent } from "@svc/contract/operations/routes.ts";
import type { HttpClient } from "./http/client.ts";
import type { CallOptions } from "./http/deadline.ts";

/** How a hand-off stands. */
export type Handoff = Answered<"GET /sessions/:id/handoffs/:handoffId">;

/** Hand-offs of a browser session: a person is asked to do something in it (docs/LOGINS.md). */
export class Handoffs {
  readonly #http: HttpClient;
  readonly #id: string;

  constructor(http: HttpClient, id: string) {
    this.#http = http;
    this.#id = id;
  }

  /** Asks a person: give them `liveUrl`. `ConflictError`: somebody has the session already. */
  begin(
    wanted: Sent<"POST /sessions/:id/handoffs"> = {},
    options: CallOptions = {},
  ): Promise<Answered<"POST /sessions/:id/handoffs">> {
    return this.#http.call("POST /sessions/:id/handoffs", {
      ...options,
      params: { id: this.#id },
      body: wanted,
      isUnrepeatable: true,
    });
  }

  /** Reads the last hand-off, and waits for its end if told to, `waitMs` (30 s at most). Ask again while it is open. */
  get(handoffId: string, { waitMs, ...options }: HandoffWait = {}): Promise<Handoff> {
    const request = { ...options, params: { id: this.#id, handoffId }, query: { waitMs } };
    return this.#http.call("GET /sessions/:id/handoffs/:handoffId", request);
  }

  /** Takes the session back. */
  cancel(handoffId: string, options: CallOptions = {}): Promise<void> {
    const request = { ...options, params: { id: this.#id, handoffId } };
    return this.#http.call("DELETE /sessions/:id/handoffs/:handoffId", request);
  }
}

/** How long a hand-off's end is waited for. */
export interface HandoffWait extends CallOptions {
  waitMs?: number | undefined;
}
