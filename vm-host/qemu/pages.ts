import { closeSync, openSync, readSync, writeSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { PAGE_BYTES, type Region } from "./pagemap.ts";

const MAGIC = "SVCPAGE1";
const HEAD_BYTES = 16;
const PIECE_BYTES = 8 * 1024 * 1024;

/**
 * Writes the runs of a stopped process's memory into a file: `SVCPAGE1 | u32 number of runs | u32 0 | runs (u32 first page,
 * u32 pages)`, filled up to a page, then the pages one after the other. Returns how many pages there are.
 */
export async function savePages(
  pid: number,
  { start }: Region,
  runs: Uint32Array,
  file: FileHandle,
): Promise<number> {
  const memory = openSync(`/proc/${pid}/mem`, "r");
  try {
    const head = headOf(runs);
    await file.write(head, 0, head.length, 0);
    let position = head.length;
    // One is filled while the other is on its way to the file.
    let [piece, spare] = [Buffer.allocUnsafe(PIECE_BYTES), Buffer.allocUnsafe(PIECE_BYTES)];
    let writing: Promise<unknown> = Promise.resolve();
    let filled = 0;
    const flush = async (): Promise<void> => {
      await writing;
      writing = writeAll(file, piece.subarray(0, filled), position);
      // It is awaited, and its fault thrown, one piece later.
      writing.catch(() => null);
      position += filled;
      [piece, spare, filled] = [spare, piece, 0];
    };
    for (const { page, count } of spansOf(runs)) {
      const bytes = count * PAGE_BYTES;
      if (filled + bytes > PIECE_BYTES) await flush();
      readWhole(memory, piece, filled, bytes, start + page * PAGE_BYTES);
      filled += bytes;
    }
    await flush();
    await writing;
    return (position - head.length) / PAGE_BYTES;
  } finally {
    closeSync(memory);
  }
}

/** Puts the pages of a file into the memory of a process that has not begun. */
export async function loadPages(pid: number, { start, bytes }: Region, path: string) {
  const memory = openSync(`/proc/${pid}/mem`, "r+");
  const file = await open(path);
  try {
    const { runs, dataAt } = await readHead(file);
    const last = runs.length === 0 ? 0 : (runs.at(-2) ?? 0) + (runs.at(-1) ?? 0);
    if (last * PAGE_BYTES > bytes) throw new Error("the pages are of a larger machine");
    await eachPiece(file, dataAt, runs, (piece, page) => {
      const at = start + page * PAGE_BYTES;
      const written = writeSync(memory, piece, 0, piece.length, at);
      if (written !== piece.length) throw new Error("the machine's memory does not take its pages");
    });
  } finally {
    closeSync(memory);
    await file.close();
  }
}

/** Puts the pages of a file over a copy of the memory they differ from. */
export async function mergePages(path: string, memory: FileHandle): Promise<void> {
  const file = await open(path);
  try {
    const { runs, dataAt } = await readHead(file);
    await eachPiece(file, dataAt, runs, (piece, page) =>
      writeAll(memory, piece, page * PAGE_BYTES),
    );
  } finally {
    await file.close();
  }
}

async function eachPiece(
  file: FileHandle,
  dataAt: number,
  runs: Uint32Array,
  use: (piece: Uint8Array, page: number) => void | Promise<void>,
): Promise<void> {
  const buffer = Buffer.allocUnsafe(PIECE_BYTES);
  let position = dataAt;
  let group: Span[] = [];
  let filled = 0;
  const flush = async (): Promise<void> => {
    await readAll(file, buffer.subarray(0, filled), position);
    let at = 0;
    for (const { page, count } of group) {
      await use(buffer.subarray(at, at + count * PAGE_BYTES), page);
      at += count * PAGE_BYTES;
    }
    position += filled;
    [group, filled] = [[], 0];
  };
  for (const span of spansOf(runs)) {
    if (filled + span.count * PAGE_BYTES > PIECE_BYTES) await flush();
    group.push(span);
    filled += span.count * PAGE_BYTES;
  }
  await flush();
}

interface Span {
  page: number;
  count: number;
}

/** The runs, none longer than a piece. */
function* spansOf(runs: Uint32Array): Generator<Span> {
  const most = PIECE_BYTES / PAGE_BYTES;
  for (let at = 0; at < runs.length; at += 2) {
    const end = (runs[at] ?? 0) + (runs[at + 1] ?? 0);
    for (let page = runs[at] ?? 0; page < end; page += most)
      yield { page, count: Math.min(most, end - page) };
  }
}

function headOf(runs: Uint32Array): Buffer {
  const bytes = HEAD_BYTES + runs.byteLength;
  const head = Buffer.alloc(Math.ceil(bytes / PAGE_BYTES) * PAGE_BYTES);
  head.write(MAGIC, 0, "latin1");
  head.writeUInt32LE(runs.length / 2, MAGIC.length);
  runs.forEach((value, index) => head.writeUInt32LE(value, HEAD_BYTES + 4 * index));
  return head;
}

async function readHead(file: FileHandle): Promise<{ runs: Uint32Array; dataAt: number }> {
  const first = Buffer.alloc(HEAD_BYTES);
  await readAll(file, first, 0);
  if (first.toString("latin1", 0, MAGIC.length) !== MAGIC) throw new Error("not a file of pages");
  const list = Buffer.alloc(first.readUInt32LE(MAGIC.length) * 8);
  await readAll(file, list, HEAD_BYTES);
  const runs = new Uint32Array(list.length / 4).map((_, index) => list.readUInt32LE(4 * index));
  return { runs, dataAt: Math.ceil((HEAD_BYTES + list.length) / PAGE_BYTES) * PAGE_BYTES };
}

function readWhole(file: number, into: Buffer, offset: number, bytes: number, position: number) {
  for (let at = 0; at < bytes;) {
    const read = readSync(file, into, offset + at, bytes - at, position + at);
    if (read === 0) throw new Error("the machine's memory ended");
    at += read;
  }
}

async function readAll(file: FileHandle, into: Uint8Array, position: number): Promise<void> {
  for (let at = 0; at < into.length;) {
    const { bytesRead } = await file.read(into, at, into.length - at, position + at);
    if (bytesRead === 0) throw new Error("a file of pages is cut");
    at += bytesRead;
  }
}

async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, at, bytes.length - at, position + at);
    at += bytesWritten;
  }
}
