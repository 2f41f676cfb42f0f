import type { RequestContext } from "@svc/contract/control-channel/rpc-server.ts";
import { constants } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { onPath } from "./errors.ts";
import { openPlain } from "./plain-file.ts";
import { Writer } from "./writer.ts";

const CHUNK_BYTES = 256 * 1024;

interface ReadParams {
  path: string;
  offset?: number;
  length?: number;
}

/** Sends a file, or a part of it, on channel 1. */
export async function readFile({ path, offset = 0, length }: ReadParams, context: RequestContext) {
  const { file: opened, stats } = await openPlain(path, constants.O_RDONLY);
  await using file = opened;
  const end = length === undefined ? Number.POSITIVE_INFINITY : offset + length;
  let at = offset;
  while (at < end && !context.signal.aborted) {
    const size = Math.min(CHUNK_BYTES, end - at);
    const part = { buffer: Buffer.alloc(size), position: at };
    const { buffer, bytesRead } = await onPath(path, () => file.read(part));
    if (bytesRead === 0) break;
    if (!(await context.stream.write(1, buffer.subarray(0, bytesRead)))) break;
    at += bytesRead;
  }
  return { size: stats.size, bytes: at - offset, mtime: stats.mtime.toISOString() };
}

interface WriteParams {
  path: string;
  mode?: number;
  append?: boolean;
}

/** Writes what comes on channel 0, until its end. */
export async function writeFile(params: WriteParams, { stream, signal }: RequestContext) {
  const { path, mode = 0o644, append = false } = params;
  await onPath(path, () => mkdir(dirname(path), { recursive: true }));
  const flags = constants.O_WRONLY | constants.O_CREAT | (append ? constants.O_APPEND : 0);
  const { file: opened, stats } = await openPlain(path, flags, mode);
  await using file = opened;
  // Only now: what is not a plain file is left as it is.
  if (!append && stats.size > 0) await onPath(path, () => file.truncate());
  if (params.mode !== undefined) await file.chmod(params.mode);
  const writer = new Writer(file);
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const stop = () => reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  stream.onBytes((_channel, part) => {
    if (part.length > 0) return writer.add(part).catch(reject);
    return writer.finish().then(resolve, reject);
  });
  try {
    return { path, bytes: await onPath(path, () => promise) };
  } finally {
    // The file stays open until the last write has come back.
    await writer.settled();
  }
}
