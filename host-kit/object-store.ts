import { createReadStream } from "node:fs";
import { open, rename, rm, stat } from "node:fs/promises";
import { Readable } from "node:stream";
import {
  type AskObject,
  type ObjectName,
  ObjectStored,
  ObjectUrls,
} from "@svc/contract/host-protocol/objects.ts";
import { LIMITS } from "@svc/contract/limits.ts";

const PARTS_AT_ONCE = 2;
const TOO_MANY = 429;
const CHANGED = 412;

/** The store refused, or gave no answer. `isPassing`: the same call may work later. */
export class ObjectStoreError extends Error {
  override readonly name = "ObjectStoreError";
  readonly status: number | null;

  constructor(what: string, status: number | null, options?: ErrorOptions) {
    super(`${what}: ${status ?? "no answer"}`, options);
    this.status = status;
  }

  /** The object has changed: it is not the one that the upload was to replace. */
  get isChanged(): boolean {
    return this.status === CHANGED;
  }

  get isPassing(): boolean {
    return this.status === null || this.status >= 500 || this.status === TOO_MANY;
  }
}

export interface ObjectStoreOptions {
  gatewayUrl: string;
  hostToken: string;
  /** Ends every transfer that is under way. */
  signal?: AbortSignal;
}

/** Files of a host in the object store of its gateway, by signed URLs. Nothing is tried twice. */
export class ObjectStore {
  readonly #options: ObjectStoreOptions;

  constructor(options: ObjectStoreOptions) {
    this.#options = options;
  }

  /**
   * Stores a file; readers see the object only when all of it is there. The file must not change meanwhile. With `ifEtag` the
   * upload replaces only the object with that etag (null: no object); for files that fit into one PUT.
   */
  async upload(object: ObjectName, path: string, ifEtag?: string | null): Promise<void> {
    const { size } = await stat(path);
    const wish = { object, sizeBytes: size, ...(ifEtag !== undefined && { ifEtag }) };
    const { put, parts, complete } = await this.#ask(wish);
    if (put !== undefined) return void (await this.#put(put, path, 0, size));
    if (!parts || complete === undefined) throw new ObjectStoreError("upload", null);
    const places = parts.map(({ url, bytes }, at) => ({
      url,
      bytes,
      start: at * LIMITS.objectPartBytes,
    }));
    const etags = await inTurns(places, ({ url, bytes, start }) =>
      this.#put(url, path, start, bytes),
    );
    await this.#call("complete", complete, { method: "POST", body: JSON.stringify({ etags }) });
  }

  /** Writes an object to a file, which is there whole or not at all. False when there is no such object. */
  async download(object: ObjectName, path: string): Promise<boolean> {
    return (await this.fetch(object, path)) !== null;
  }

  /** Reads an object of at most `mostBytes` into memory. Null when there is no such object. */
  async read(object: ObjectName, mostBytes: number): Promise<Buffer | null> {
    const found = await this.#ask({ object }).catch(nullWhenMissing);
    if (!found) return null;
    const { get, sizeBytes = 0 } = found;
    if (get === undefined || sizeBytes > mostBytes) throw new ObjectStoreError("download", null);
    const headers = { range: `bytes=0-${sizeBytes - 1}` };
    const response = await this.#call("download", get, { headers });
    const bytes = Buffer.from(await response.arrayBuffer());
    if (bytes.length !== sizeBytes) throw new ObjectStoreError("download was cut", null);
    return bytes;
  }

  /** Writes an object to a file as `download` does. Returns the etag of these bytes or of older ones; null: no such object. */
  async fetch(object: ObjectName, path: string): Promise<{ etag: string } | null> {
    const found = await this.#ask({ object }).catch(nullWhenMissing);
    if (!found) return null;
    const { get, sizeBytes = 0, etag } = found;
    if (get === undefined || etag === undefined) throw new ObjectStoreError("download", null);
    const draft = `${path}.${process.pid}.tmp`;
    try {
      await this.#fetchInto(draft, get, sizeBytes);
      await rename(draft, path);
    } finally {
      await rm(draft, { force: true });
    }
    return { etag };
  }

  /** Whether all of an object is there. */
  async has(object: ObjectName): Promise<boolean> {
    return (await this.#ask({ object }).catch(nullWhenMissing)) !== null;
  }

  /** Removes an object. Nothing when it is not there. */
  async remove(object: ObjectName): Promise<void> {
    await this.#ask({ object, delete: true });
  }

  async #fetchInto(path: string, url: string, sizeBytes: number): Promise<void> {
    const file = await open(path, "w");
    try {
      const starts: number[] = [];
      for (let at = 0; at < sizeBytes; at += LIMITS.objectPartBytes) starts.push(at);
      await inTurns(starts, async (start) => {
        const end = Math.min(start + LIMITS.objectPartBytes, sizeBytes) - 1;
        const headers = { range: `bytes=${start}-${end}` };
        const response = await this.#call("download", url, { headers });
        let at = start;
        for await (const chunk of response.body ?? []) {
          await file.write(chunk, 0, chunk.byteLength, at);
          at += chunk.byteLength;
        }
        if (at !== end + 1) throw new ObjectStoreError("download was cut", null);
      });
      await file.sync();
    } finally {
      await file.close();
    }
  }

  async #put(url: string, path: string, start: number, bytes: number): Promise<string> {
    // An empty range has no last byte.
    const body = bytes === 0 ? "" : slice(path, start, bytes);
    const headers = { "content-length": String(bytes) };
    const init = { method: "PUT", headers, body, duplex: "half" } as const;
    const response = await this.#call("upload", url, init);
    return ObjectStored.parse(await response.json()).etag;
  }

  async #ask(body: AskObject): Promise<ObjectUrls> {
    const { gatewayUrl, hostToken } = this.#options;
    const response = await this.#call("ask", new URL("/internal/objects", gatewayUrl).href, {
      method: "POST",
      headers: { authorization: `Bearer ${hostToken}` },
      body: JSON.stringify(body),
    });
    return ObjectUrls.parse(await response.json());
  }

  async #call(what: string, url: string, init: RequestInit): Promise<Response> {
    const { signal } = this.#options;
    let response: Response;
    try {
      response = await fetch(url, { ...init, ...(signal && { signal }) });
    } catch (cause) {
      throw new ObjectStoreError(what, null, { cause });
    }
    if (response.ok) return response;
    await response.body?.cancel();
    throw new ObjectStoreError(what, response.status);
  }
}

function slice(path: string, start: number, bytes: number): ReadableStream<Uint8Array> {
  const file = createReadStream(path, { start, end: start + bytes - 1 });
  return Readable.toWeb(file) as ReadableStream<Uint8Array>;
}

function nullWhenMissing(error: unknown): null {
  if (error instanceof ObjectStoreError && error.status === 404) return null;
  throw error;
}

/** Does the work for each item, a few at a time; answers in the order of the items. */
async function inTurns<T, Result>(
  items: T[],
  work: (item: T) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  let hasFailed = false;
  const worker = async (): Promise<void> => {
    while (next < items.length && !hasFailed) {
      const at = next;
      next += 1;
      results[at] = await work(items[at] as T).catch((error: unknown) => {
        hasFailed = true;
        throw error;
      });
    }
  };
  const workers = Array.from({ length: PARTS_AT_ONCE }, worker);
  // All workers have ended before the caller closes the file they write to.
  const [failed] = (await Promise.allSettled(workers)).filter(
    ({ status }) => status === "rejected",
  );
  if (failed?.status === "rejected") throw failed.reason;
  return results;
}
