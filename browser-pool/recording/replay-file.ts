import { type FileHandle, open } from "node:fs/promises";
import { promisify } from "node:util";
import { constants, crc32, deflateRaw } from "node:zlib";

const deflate = promisify(deflateRaw);

const MIB = 1024 ** 2;
const BLOCK_BYTES = 512;
/** Lines that wait to be written, in UTF-16 units. A disk that is slower than that cuts the replay. */
const MOST_WAITING = 32 * MIB;
/** Size of a replay on the disk. */
const MOST_BYTES = 256 * MIB;
/** The end of a cut replay is written over bytes that the disk has already: a full disk takes no others. */
const MARKS = 16;
/** The first line is stored with this many bytes, so that the end of a cut replay has room from the start on. */
const FIRST_LINE_BYTES = 512;
/** An empty last block of a deflate stream. */
const LAST_BLOCK = Buffer.from([3, 0]);
const GZIP_HEAD = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);

/** A place in the file at which the stream can be ended. */
interface Mark {
  at: number;
  crc: number;
  /** Bytes before compression, and the lines in them. */
  bytes: number;
  lines: number;
}

/** The contents of a finished file. */
export interface Finished {
  lines: number;
  /** Why lines are missing at the end; null when none are. */
  cut: string | null;
}

/** A custom event of rrweb; of the whole session without a tab. */
export const customLine = (
  tag: string,
  payload: object,
  timestamp: number,
  tabId?: string,
): string =>
  JSON.stringify({ type: 5, data: { tag, payload }, timestamp, ...(tabId && { tabId }) });

/**
 * Newline-delimited JSON in one gzip member, written bit by bit. Each bit is a piece of its own of the stream: after a
 * crash all of them but the last can be read, and after a failed write the stream is ended at the last good one.
 */
export class ReplayFile {
  readonly #file: FileHandle;
  #waiting: string[] = [];
  /** Of the lines that wait, and of those and the ones that are being written. */
  #newSize = 0;
  #waitingSize = 0;
  #marks: Mark[] = [{ at: GZIP_HEAD.length, crc: 0, bytes: 0, lines: 0 }];
  #work: Promise<void> = Promise.resolve();
  #cut: string | null = null;

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  /** Makes the file, which must not exist. `facts` go into its first line. */
  static async create(path: string, facts: object, now: number): Promise<ReplayFile> {
    const file = await open(path, "wx", 0o600);
    const replay = new ReplayFile(file);
    try {
      await write(file, GZIP_HEAD, 0);
      const line = customLine("svc.session", facts, now).padEnd(FIRST_LINE_BYTES - 1);
      await replay.#append([line], constants.Z_NO_COMPRESSION);
    } catch (error) {
      await file.close();
      throw error;
    }
    return replay;
  }

  /** Why nothing is added any more; null while lines are. */
  get cut(): string | null {
    return this.#cut;
  }

  /** Adds a line to those that the next `flush` writes. */
  add(line: string): void {
    if (this.#cut !== null) return;
    this.#waiting.push(line);
    this.#newSize += line.length;
    this.#waitingSize += line.length;
    if (this.#waitingSize > MOST_WAITING) this.end("the disk is too slow");
  }

  /** Adds nothing any more. The replay tells why. */
  end(reason: string): void {
    this.#cut ??= reason;
  }

  /** Writes what waits. A write that fails cuts the replay, and is not told otherwise. */
  flush(): Promise<void> {
    const lines = this.#waiting;
    if (lines.length === 0) return this.#work;
    const size = this.#newSize;
    this.#waiting = [];
    this.#newSize = 0;
    this.#work = this.#work.then(async () => {
      await this.#tryAppend(lines);
      this.#waitingSize -= size;
    });
    return this.#work;
  }

  /**
   * Ends the stream and closes the file. Rejects when not even that can be written. `missing`: why there are lines that
   * never came; those that did are all kept.
   */
  async finish(now: number, missing: string | null = null): Promise<Finished> {
    try {
      await this.flush();
      if (this.#cut === null && (await this.#tryEnd(endLine(missing, now))))
        return { lines: this.#last.lines, cut: missing };
      const reason = this.#cut ?? "the disk is full";
      return { lines: await this.#endCut(reason, now), cut: reason };
    } finally {
      await this.#file.close();
    }
  }

  get #last(): Mark {
    return this.#marks.at(-1) as Mark;
  }

  async #tryAppend(lines: string[]): Promise<void> {
    // Of the lines that waited for a write that failed.
    if (this.#cut !== null) return;
    try {
      await this.#append(lines, constants.Z_DEFAULT_COMPRESSION);
      if (this.#last.at > MOST_BYTES) this.end(`it is above ${MOST_BYTES / MIB} MiB`);
    } catch (error) {
      this.end(reasonOf(error));
    }
  }

  async #append(lines: string[], level: number): Promise<void> {
    const { packed, next } = await packAfter(this.#last, lines, level);
    await write(this.#file, packed, this.#last.at);
    this.#marks.push(next);
    // The first one stays: from there is always room.
    if (this.#marks.length > MARKS) this.#marks.splice(1, 1);
  }

  async #tryEnd(line: string): Promise<boolean> {
    try {
      await this.#append([line], constants.Z_DEFAULT_COMPRESSION);
      await write(this.#file, endOf(this.#last), this.#last.at);
      return true;
    } catch {
      return false;
    }
  }

  async #endCut(reason: string, now: number): Promise<number> {
    const line = endLine(reason, now);
    // Up to the end of the last block that it has on the disk.
    const { blocks } = await this.#file.stat();
    const room = Math.max(this.#last.at, blocks * BLOCK_BYTES);
    for (const mark of this.#marks.toReversed()) {
      const { packed, next } = await packAfter(mark, [line], constants.Z_DEFAULT_COMPRESSION);
      const tail = Buffer.concat([packed, endOf(next)]);
      if (mark.at + tail.length > room) continue;
      const isWritten = await write(this.#file, tail, mark.at).then(
        () => true,
        () => false,
      );
      if (!isWritten) continue;
      await this.#file.truncate(mark.at + tail.length);
      return next.lines;
    }
    throw new Error(reason);
  }
}

/** The last line of a replay. */
const endLine = (missing: string | null, now: number): string =>
  missing === null
    ? customLine("svc.end", {}, now)
    : customLine("svc.cut", { reason: missing.slice(0, 100) }, now);

async function packAfter(mark: Mark, lines: string[], level: number) {
  const bytes = Buffer.from(`${lines.join("\n")}\n`);
  const packed = await deflate(bytes, { level, finishFlush: constants.Z_SYNC_FLUSH });
  const next: Mark = {
    at: mark.at + packed.length,
    crc: crc32(bytes, mark.crc),
    bytes: mark.bytes + bytes.length,
    lines: mark.lines + lines.length,
  };
  return { packed, next };
}

function endOf({ crc, bytes }: Mark): Buffer {
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(crc, 0);
  trailer.writeUInt32LE(bytes % 2 ** 32, 4);
  return Buffer.concat([LAST_BLOCK, trailer]);
}

async function write(file: FileHandle, bytes: Buffer, at: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, at + done);
    done += bytesWritten;
  }
}

function reasonOf(error: unknown): string {
  const isFull = error instanceof Error && "code" in error && error.code === "ENOSPC";
  return isFull ? "the disk is full" : "the disk failed";
}
