import type { Answered } from "@svc/contract/operations/routes.ts";
import { type Data, guarded } from "./bytes.ts";
import { SvcError } from "./errors.ts";
import type { HttpClient } from "./http/client.ts";
import type { CallOptions } from "./http/deadline.ts";
import { withBody } from "./http/raw-body.ts";

/** A download or an upload of a session; `url` fetches it for 15 minutes, once it is complete. */
export type SessionFile = Answered<"GET /sessions/:id/files/:name">;

/** Files of a browser session, which its pages have downloaded or are to be given (docs/FILES.md). */
export class SessionFiles {
  readonly #http: HttpClient;
  readonly #id: string;

  constructor(http: HttpClient, id: string) {
    this.#http = http;
    this.#id = id;
  }

  /** Downloads and uploads, oldest first. */
  async list(options: CallOptions = {}): Promise<SessionFile[]> {
    const request = { ...options, params: { id: this.#id } };
    return (await this.#http.call("GET /sessions/:id/files", request)).files;
  }

  /** Reads the record of a file, with a new URL. */
  get(name: string, options: CallOptions = {}): Promise<SessionFile> {
    const request = { ...options, params: { id: this.#id, name } };
    return this.#http.call("GET /sessions/:id/files/:name", request);
  }

  /** Gives the session a file, at most 100 MB. A file input takes the `path` of the answer. */
  async put(
    name: string,
    data: Data,
    options: CallOptions = {},
  ): Promise<Answered<"PUT /sessions/:id/files/:name">> {
    const params = { id: this.#id, name };
    const request = this.#http.request("PUT /sessions/:id/files/:name", { ...options, params });
    return this.#http.raw(
      await withBody(request, data),
      (response) => response.json() as Promise<Answered<"PUT /sessions/:id/files/:name">>,
    );
  }

  /** Fetches a file as a stream. `url` of an entry does the same, without a key. */
  async download(name: string, options: CallOptions = {}): Promise<ReadableStream<Uint8Array>> {
    const { url = "", state } = await this.get(name, options);
    if (url === "") throw new SvcError(`${name} is not complete: it is ${state}.`);
    return this.#http.raw({ ...options, url }, async ({ body }) => guarded(body, options.signal));
  }
}
