import type { ServerResponse } from "node:http";
import { CHANNELS } from "@svc/contract/control-channel/binary-frame.ts";
import type { FILE_METHODS } from "@svc/contract/control-channel/file-methods.ts";
import type { HOST_METHODS } from "@svc/contract/control-channel/host-methods.ts";
import type { RpcClient } from "@svc/contract/control-channel/rpc-client.ts";
import { refuse } from "@svc/contract/control-channel/refusals.ts";
import type { RpcError } from "@svc/contract/control-channel/rpc-error.ts";
import { whenDrained } from "@svc/host-kit/drain.ts";
import type * as z from "zod";
import { Patience } from "./patience.ts";
import type { Part } from "@svc/host-kit/range.ts";

/** A file of a guest as its agent tells of it. */
export type GuestFile = z.infer<(typeof FILE_METHODS)["files.read"]["result"]>;

interface FileHeaders extends Record<string, string> {
  "content-type": string;
  "accept-ranges": string;
}

/** The headers of an answer about a file. A file of the kernel has bytes and tells no size: its length is not known. */
export function describe(file: GuestFile): FileHeaders {
  const { size, mtime, inode = 0 } = file;
  const type = { "content-type": "application/octet-stream" };
  if (isSizeless(file)) return { ...type, "accept-ranges": "none" };
  const etag = `"${[size, Date.parse(mtime), inode].map((number) => number.toString(36)).join("-")}"`;
  return { ...type, "accept-ranges": "bytes", "content-length": String(size), etag };
}

const isSizeless = ({ size, bytes }: GuestFile): boolean => size === 0 && bytes > 0;

/** Reads a file of a guest for one caller, and gives up on a guest that stands still. */
export class FileReader {
  readonly #guest: RpcClient<typeof HOST_METHODS>;
  readonly #path: string;
  readonly #signal: AbortSignal;
  readonly #patience: Patience;
  /** The last piece: it waits for the guest's word that the file was read to the end. */
  #last: Uint8Array = new Uint8Array();
  #bytes = 0;

  constructor(guest: RpcClient<typeof HOST_METHODS>, path: string, caller: AbortController) {
    this.#guest = guest;
    this.#path = path;
    this.#signal = caller.signal;
    this.#patience = new Patience(() => caller.abort());
  }

  /** What the file is. One byte is read: only that tells whether a file without a size is empty. */
  look(): Promise<GuestFile> {
    return this.#read({ offset: 0, length: 1 });
  }

  /** Sends a part of the file. A file that has less by now, or is another one, is never a whole answer. */
  async send(response: ServerResponse, file: GuestFile, part: Part): Promise<void> {
    const { offset, length } = part;
    const take = async (bytes: Uint8Array): Promise<void> => {
      const ready = this.#last;
      this.#last = bytes;
      this.#bytes += bytes.length;
      if (ready.length === 0) return;
      if (!response.headersSent) begin(response, file, part);
      if (!response.write(ready) && !response.destroyed) await whenDrained(response);
    };
    const bound = isSizeless(file) ? {} : { length };
    const read = await this.#read({ offset, ...bound }, take);
    const isShort = !isSizeless(file) && this.#bytes !== length;
    if (this.#bytes !== read.bytes || read.inode !== file.inode) throw changed();
    if (isShort && (response.headersSent || !part.isWhole)) throw changed();
    // Some files of the kernel tell a size that they do not have.
    const told = isShort ? { ...file, size: this.#bytes } : file;
    if (!response.headersSent) begin(response, told, part);
    response.end(this.#last);
  }

  #read(
    part: { offset: number; length?: number },
    take: (bytes: Uint8Array) => Promise<void> = async () => {},
  ): Promise<GuestFile> {
    const patience = this.#patience;
    const onBytes = async (channel: number, bytes: Uint8Array): Promise<void> => {
      if (channel !== CHANNELS.output || bytes.length === 0) return;
      patience.end();
      await take(bytes);
      patience.begin();
    };
    patience.begin();
    const params = { path: this.#path, ...part };
    const { result } = this.#guest.call("files.read", params, { onBytes, signal: this.#signal });
    return result.finally(() => patience.end());
  }
}

const changed = (): RpcError => refuse("Busy", "The file changed while it was read.");

function begin(response: ServerResponse, file: GuestFile, part: Part): void {
  const headers = describe(file);
  if (part.isWhole) return void response.writeHead(200, headers);
  const last = part.offset + part.length - 1;
  response.writeHead(206, {
    ...headers,
    "content-length": String(part.length),
    "content-range": `bytes ${part.offset}-${last}/${file.size}`,
  });
}
