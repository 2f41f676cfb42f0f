import { ApiError } from "./errors.ts";
import { guarded, linesOf } from "./bytes.ts";
import { type HttpClient, LONG_MS } from "./http/client.ts";
import { type CallOptions, sleep, within } from "./http/deadline.ts";
import { backoffMs } from "./http/retry.ts";
import type { Answered } from "@svc/contract/operations/routes.ts";

/** The replay of a recorded session (document 1, Replay URL response). */
export class Replay {
  readonly #http: HttpClient;
  readonly #id: string;

  constructor(http: HttpClient, id: string) {
    this.#http = http;
    this.#id = id;
  }

  /** Short-lived URLs of the replay and of a page that plays it. While it is on its way: a `NotFoundError`, `code: "ReplayPending"`. */
  url(options: CallOptions = {}): Promise<Answered<"GET /sessions/:id/replay-url">> {
    return this.#http.call("GET /sessions/:id/replay-url", {
      ...options,
      params: { id: this.#id },
    });
  }

  /** Waits until the replay is there, typically 1 to 3 s after the release; `timeoutMs` is 180,000 unless said. */
  wait(options: CallOptions = {}): Promise<Answered<"GET /sessions/:id/replay-url">> {
    const { timeoutMs = this.#http.options.timeoutMs ?? LONG_MS } = options;
    return within({ ...options, timeoutMs }, async ({ signal }) => {
      for (let attempt = 0; ; attempt += 1) {
        try {
          return await this.url({ signal, timeoutMs: Infinity });
        } catch (error) {
          if (!(error instanceof ApiError && error.code === "ReplayPending")) throw error;
          await sleep(backoffMs(Math.min(attempt, 2)), signal);
        }
      }
    });
  }

  /** Waits for the replay and streams it: lines of JSON, decompressed whatever encoding the storage serves. */
  async download(options: CallOptions = {}): Promise<ReadableStream<Uint8Array>> {
    const { url, contentEncoding } = await this.wait(options);
    // The URL is signed: a key would be a second credential, and a leak.
    return this.#http.raw({ ...options, url }, async (response) => {
      const body = guarded(response.body, options.signal);
      if (contentEncoding !== "gzip") return body;
      const unzip = new DecompressionStream("gzip");
      return body.pipeThrough(unzip as ReadableWritablePair<Uint8Array, Uint8Array>);
    });
  }

  /** The events of the replay, in their order. */
  async *events(options: CallOptions = {}): AsyncGenerator<Record<string, unknown>, void> {
    for await (const line of linesOf(await this.download(options)))
      if (line !== "") yield JSON.parse(line) as Record<string, unknown>;
  }
}
