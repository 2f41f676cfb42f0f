import type { RequestContext } from "@svc/contract/control-channel/rpc-server.ts";
import { constants } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { Draft } from "./draft.ts";
import { onPath } from "./errors.ts";
import { isOfKernel } from "./kernel-folders.ts";
import { makeParents } from "./make-folders.ts";
import { openPlain } from "./plain-file.ts";
import { targetOf } from "./target.ts";
import { Writer } from "./writer.ts";

const CHUNK_BYTES = 256 * 1024;

interface ReadParams {
  path: string;
  offset?: number;
  length?: number;
}

/** Sends a file, or a part of it, on channel 1. What is added to the file meanwhile is not sent: a log has an end, too. */
export async function readFile({ path, offset = 0, length }: ReadParams, context: RequestContext) {
  const { file: opened, stats } = await openPlain(path, constants.O_RDONLY);
  await using file = opened;
  // Files of the kernel tell no size.
  const size = stats.size > 0 ? stats.size : Number.POSITIVE_INFINITY;
  const end = Math.min(size, length === undefined ? size : offset + length);
  let at = offset;
  while (at < end && !context.signal.aborted) {
    const part = { buffer: Buffer.alloc(Math.min(CHUNK_BYTES, end - at)), position: at };
    const { buffer, bytesRead } = await onPath(path, () => file.read(part));
    if (bytesRead === 0) break;
    if (!(await context.stream.write(1, buffer.subarray(0, bytesRead)))) break;
    at += bytesRead;
  }
  const { ino: inode, mtime } = stats;
  return { size: stats.size, bytes: at - offset, mtime: mtime.toISOString(), inode };
}

interface WriteParams {
  path: string;
  mode?: number;
  append?: boolean;
}

/** Writes what comes on channel 0, until its end. A write that fails leaves what was there. */
export async function writeFile(params: WriteParams, context: RequestContext) {
  const { path, append = false } = params;
  return onPath(path, async () => {
    await makeParents(path);
    const target = await targetOf(path);
    // Nothing can lie beside a file of the kernel.
    if (append || isOfKernel(target.path)) return writeInPlace(target.path, params, context);
    const draft = await Draft.begin(target, params.mode ?? NEW_MODE);
    try {
      const bytes = await receive(draft.file, context);
      await draft.put(params.mode);
      return { path, bytes };
    } finally {
      await draft.end();
    }
  });
}

const NEW_MODE = 0o644;

async function writeInPlace(
  target: string,
  { path, mode, append = false }: WriteParams,
  context: RequestContext,
) {
  const flags = constants.O_WRONLY | constants.O_CREAT | (append ? constants.O_APPEND : 0);
  const { file: opened, stats } = await openPlain(target, flags, mode ?? NEW_MODE);
  await using file = opened;
  if (!append && stats.size > 0) await file.truncate();
  if (mode !== undefined) await file.chmod(mode);
  const writer = new Writer(file);
  try {
    return { path, bytes: await receive(file, context, writer) };
  } catch (error) {
    // Only if nobody else has added something meanwhile.
    const now = await file.stat();
    if (append && now.size === stats.size + writer.written) await file.truncate(stats.size);
    throw error;
  }
}

/** Resolves with the number of bytes when the channel has ended and all are in the file. */
async function receive(
  file: FileHandle,
  { stream, signal }: RequestContext,
  writer = new Writer(file),
): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const stop = () => reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  let isOver = false;
  stream.onBytes((_channel, part) => {
    // Bytes may be under way as the call is cancelled: added now, they would stay in the file.
    if (isOver) return;
    if (part.length > 0) return writer.add(part).catch(reject);
    return writer.finish().then(resolve, reject);
  });
  try {
    const bytes = await promise;
    signal.throwIfAborted();
    return bytes;
  } finally {
    signal.removeEventListener("abort", stop);
    isOver = true;
    // The file stays open until the last write has come back.
    await writer.settled();
  }
}
