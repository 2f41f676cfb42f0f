import { createReadStream, createWriteStream, rmSync } from "node:fs";
import { rename, rm, stat } from "node:fs/promises";
import { basename, join, posix, resolve } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { ControlError } from "@svc/sdk/errors.ts";
import type { Sandbox } from "@svc/sdk/sandboxes.ts";
import type { Cli } from "../cli.ts";
import { UsageError } from "../errors.ts";
import { EXIT } from "../exit-codes.ts";
import { type Count, meter } from "../terminal/progress.ts";
import { type Copied, downloadFolder, uploadFolder } from "./copy-folder.ts";

/** A side of a copy: a path here, or one inside of a machine. */
type Side = { at: "here"; path: string } | { at: "inside"; id: string; path: string };

/** Copies a file or a folder into a machine, or out of it. */
export async function copy(cli: Cli, from: string, to: string): Promise<void> {
  const [source, target] = [sideOf(from), sideOf(to)];
  if (source.at === target.at)
    throw new UsageError("One side is a path here, the other one ID:/path inside of a sandbox.");
  const inside = source.at === "inside" ? source : target.at === "inside" ? target : null;
  if (!inside) return;
  const box = await (await cli.svc()).sandboxes.connect(inside.id);
  const done =
    source === inside ? await download(box, inside.path, to) : await upload(box, from, inside.path);
  if (to !== "-") cli.print(done, `${done.path}  ${done.bytes} bytes`);
}

/** `ID:/path`. Ids have no slash; a path here that looks like one is written as ./ID:/path. */
function sideOf(text: string): Side {
  const [, id, path] = /^([^/\\:]{2,}):(.*)$/.exec(text) ?? [];
  if (id === undefined || path === undefined) return { at: "here", path: text };
  if (!path.startsWith("/"))
    throw new UsageError(`${text}: paths inside are absolute, as ${id}:/root/${path || "file"}.`);
  return { at: "inside", id, path };
}

async function upload(box: Sandbox, from: string, to: string): Promise<Copied> {
  if (from === "-") return fromStdin(box, to);
  const found = await stat(from).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(
      `${from}: ${error.code === "ENOENT" ? "there is no such file" : error.message}.`,
    );
  });
  const path = (await isFolder(box, to)) ? posix.join(to, basename(resolve(from))) : to;
  if (found.isDirectory()) return uploadFolder(box, from, path);
  if (!found.isFile()) throw new UsageError(`${from} is no plain file and no folder.`);
  const bytes = await meter(`Copying ${basename(from)}`, found.size, (count) =>
    box.files.write(path, counted(Readable.toWeb(createReadStream(from)), count), {
      mode: found.mode & 0o777,
      timeoutMs: Infinity,
    }),
  );
  return { path, bytes };
}

async function fromStdin(box: Sandbox, path: string): Promise<Copied> {
  const bytes = await meter(`Copying to ${path}`, null, (count) =>
    box.files.write(path, counted(Readable.toWeb(process.stdin), count), { timeoutMs: Infinity }),
  );
  return { path, bytes };
}

async function download(box: Sandbox, from: string, to: string): Promise<Copied> {
  const found = await box.files.stat(from);
  if (found.type === "directory") {
    if (to === "-") throw new UsageError(`${from} is a folder: it cannot go to stdout.`);
    return downloadFolder(
      box,
      from,
      (await isFolderHere(to)) ? join(to, posix.basename(from)) : to,
    );
  }
  const { size, mode } = found.type === "symlink" ? { size: null, mode: 0o644 } : found;
  const open = (count: Count): Readable => Readable.fromWeb(counted(box.files.stream(from), count));
  const what = `Copying ${posix.basename(from)}`;
  if (to === "-") {
    await pipeline(
      open(() => {}),
      process.stdout,
      { end: false },
    );
    return { path: to, bytes: 0 };
  }
  const path = (await isFolderHere(to)) ? join(to, posix.basename(from)) : to;
  return { path, bytes: await meter(what, size, (count) => keep(path, mode & 0o777, open, count)) };
}

/** Writes a file whole or not at all: a download that breaks off leaves the old file. */
async function keep(
  path: string,
  mode: number,
  open: (count: Count) => Readable,
  count: Count,
): Promise<number> {
  const made = `${path}.${process.pid}.part`;
  let bytes = 0;
  const stop = (): void => {
    rmSync(made, { force: true });
    process.exit(EXIT.interrupted);
  };
  process.once("SIGINT", stop);
  try {
    const source = open((done) => count((bytes = done)));
    await pipeline(source, createWriteStream(made, { flags: "wx", mode }));
    await rename(made, path);
    return bytes;
  } catch (error) {
    await rm(made, { force: true });
    throw error;
  } finally {
    process.off("SIGINT", stop);
  }
}

/** A stream that tells how much of it has passed. */
function counted(stream: unknown, count: Count): ReadableStream<Uint8Array> {
  let done = 0;
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(part, controller) {
      count((done += part.length));
      controller.enqueue(part);
    },
  });
  return (stream as ReadableStream<Uint8Array>).pipeThrough(counter);
}

async function isFolder(box: Sandbox, path: string): Promise<boolean> {
  if (path.endsWith("/")) return true;
  try {
    return (await box.files.stat(path)).type === "directory";
  } catch (error) {
    if (error instanceof ControlError && error.code === "NotFound") return false;
    throw error;
  }
}

const isFolderHere = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => path.endsWith("/"),
  );
