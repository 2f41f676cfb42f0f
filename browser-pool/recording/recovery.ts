import { createReadStream } from "node:fs";
import { readdir, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { constants, createGunzip } from "node:zlib";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import { removeFolder } from "@svc/host-kit/run-folders.ts";
import { isObject } from "../cdp/envelope.ts";
import { ReplayFile } from "./replay-file.ts";
import { FINISHED, type WaitingReplay, replayAt, stemOf } from "./waiting-replay.ts";

const NEW_LINE = 10;
/** Lines are written on when so many bytes of them wait. */
const WRITTEN_BYTES = 1024 * 1024;
/** A longer line is none of ours: the file is taken to end before it. */
const MOST_LINE_BYTES = 128 * 1024 * 1024;
const WHY = "the browser pool ended";

/**
 * Moves the replays that a killed run has left from its folder into that of this run. Drafts are finished with what can be
 * read of them. The folder is removed, unless a replay in it could not be recovered.
 */
export async function recoverReplays(
  from: string,
  into: string,
  log: Log,
): Promise<WaitingReplay[]> {
  const found: WaitingReplay[] = [];
  let isDone = true;
  for (const name of await readdir(from)) {
    const replay = replayAt(join(from, name));
    if (!replay) continue;
    try {
      found.push(await (replay.isDraft ? finishDraft(replay, into) : move(replay, into)));
    } catch (error) {
      // The draft stays for the next start: the disk may be full.
      log.error({ reason: messageOf(error) }, "replay_not_recovered");
      isDone = false;
    }
  }
  if (isDone) await removeFolder(from);
  return found;
}

async function move(replay: WaitingReplay, into: string): Promise<WaitingReplay> {
  const path = join(into, basename(replay.path));
  await rename(replay.path, path);
  return { path, org: replay.org, session: replay.session };
}

async function finishDraft(draft: WaitingReplay, into: string): Promise<WaitingReplay> {
  const { path, org, session } = draft;
  const finished = join(into, stemOf(org, session) + FINISHED);
  const copy = `${finished}.new`;
  await rm(copy, { force: true });
  const file = await ReplayFile.create(copy, { recovered: true }, Date.now());
  let lines = 0;
  try {
    await copyLines(path, file);
  } finally {
    ({ lines } = await file.finish(Date.now(), WHY));
  }
  await rename(copy, finished);
  await rm(path);
  return { path: finished, org, session, lines };
}

/** Copies all whole lines that can be read. What comes behind the first byte that is wrong is given up. */
async function copyLines(path: string, into: ReplayFile): Promise<void> {
  const packed = createReadStream(path);
  // The last piece may not have been written whole.
  const unpacked = createGunzip({ finishFlush: constants.Z_SYNC_FLUSH });
  const over = Promise.withResolvers<void>();
  const lines = new Lines();
  unpacked.on("data", (chunk: Buffer) => {
    for (const line of lines.in(chunk)) if (isEvent(line)) into.add(line);
    if (lines.isTooLong) over.resolve();
    if (lines.takenBytes < WRITTEN_BYTES) return;
    lines.takenBytes = 0;
    unpacked.pause();
    void into.flush().finally(() => unpacked.resume());
  });
  unpacked.once("end", over.resolve);
  // Not by the end of a pipeline, which throws away what has been unpacked before the fault.
  for (const stream of [packed, unpacked]) stream.once("error", () => over.resolve());
  packed.pipe(unpacked);
  await over.promise;
  packed.destroy();
  unpacked.destroy();
  await into.flush();
}

/** Cuts bytes into lines. */
class Lines {
  /** Bytes of the lines so far; the caller counts anew when it likes. */
  takenBytes = 0;
  #rest: Buffer[] = [];
  #size = 0;

  get isTooLong(): boolean {
    return this.#size > MOST_LINE_BYTES;
  }

  in(chunk: Buffer): string[] {
    this.#rest.push(chunk);
    this.#size += chunk.length;
    if (!chunk.includes(NEW_LINE)) return [];
    const bytes = Buffer.concat(this.#rest);
    const end = bytes.lastIndexOf(NEW_LINE);
    this.#rest = [bytes.subarray(end + 1)];
    this.#size = bytes.length - end - 1;
    this.takenBytes += end;
    return bytes.toString("utf8", 0, end).split("\n");
  }
}

/** Bytes that were changed may unpack to other ones. */
function isEvent(line: string): boolean {
  try {
    return isObject(JSON.parse(line));
  } catch {
    return false;
  }
}
