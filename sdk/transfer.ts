import { type Data, guarded } from "./bytes.ts";
import type { HttpClient } from "./http/client.ts";
import type { CallOptions } from "./http/deadline.ts";
import { withBody } from "./http/raw-body.ts";
import type { Answered } from "@svc/contract/operations/routes.ts";

/** A signed URL of a file: the only credential it needs; ISO 8601 says when it ends. */
export type SignedUrl = Answered<"GET /sandboxes/:id/files/download-url">;
/** The answer of an upload. */
export type Uploaded = Answered<"PUT /files/upload">;

/** The part of a file that is fetched. */
export interface DownloadOptions extends CallOptions {
  /** The first byte. */
  offset?: number | undefined;
  /** The number of bytes; to the end unless said. */
  length?: number | undefined;
}

/** Files by signed URLs (document 2): whoever has such a URL needs no key. At most 32 MiB an upload. */
export class Transfer {
  readonly #http: HttpClient;
  readonly #id: string;

  constructor(http: HttpClient, id: string) {
    this.#http = http;
    this.#id = id;
  }

  /** Signs a URL that fetches one file for 15 minutes. The path is absolute. */
  downloadUrl(path: string, options: CallOptions = {}): Promise<SignedUrl> {
    const request = { ...options, params: { id: this.#id }, query: { path } };
    return this.#http.call("GET /sandboxes/:id/files/download-url", request);
  }

  /** Signs a URL that writes one file, or without a path any file of the machine, for 15 minutes. */
  uploadUrl(path?: string, options: CallOptions = {}): Promise<SignedUrl> {
    const request = { ...options, params: { id: this.#id }, query: { path } };
    return this.#http.call("GET /sandboxes/:id/files/upload-url", request);
  }

  /** Fetches a file as a stream. A file that changes meanwhile is a `ConnectionError`, never a short file. */
  async download(path: string, options: DownloadOptions = {}): Promise<ReadableStream<Uint8Array>> {
    const { offset, length, ...rest } = options;
    const { url } = await this.downloadUrl(path, rest);
    const last = length === undefined ? "" : (offset ?? 0) + length - 1;
    const isPart = offset !== undefined || length !== undefined;
    const headers: Record<string, string> = isPart ? { range: `bytes=${offset ?? 0}-${last}` } : {};
    return this.#http.raw({ ...rest, url, init: { headers } }, async ({ body }) =>
      guarded(body, rest.signal),
    );
  }

  /** Writes a file, folders included; what was there is replaced. A stream is sent as it comes, in one attempt. */
  async upload(path: string, data: Data, options: CallOptions = {}): Promise<Uploaded> {
    const { url } = await this.uploadUrl(path, options);
    const request = await withBody({ ...options, url }, data);
    return this.#http.raw(request, (response) => response.json() as Promise<Uploaded>);
  }
}
