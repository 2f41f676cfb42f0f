import { createReadStream, createWriteStream } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { constants, createZstdCompress, createZstdDecompress } from "node:zlib";

const CHUNK_BYTES = 1024 * 1024;
const BLOCK_BYTES = 4096;
const NOTHING = Buffer.alloc(BLOCK_BYTES);

const QUICKLY = {
  [constants.ZSTD_c_compressionLevel]: 1,
  // Whoever unpacks it hears of every changed byte.
  [constants.ZSTD_c_checksumFlag]: 1,
};

/** Packs a file, which must not change meanwhile. Returns how large it is unpacked. */
export async function pack(from: string, to: string): Promise<number> {
  const { size } = await stat(from);
  await pipeline(
    createReadStream(from, { highWaterMark: CHUNK_BYTES }),
    createZstdCompress({ params: QUICKLY, chunkSize: CHUNK_BYTES }),
    createWriteStream(to, { mode: 0o600 }),
  );
  return size;
}

/** Unpacks a file of so many bytes. Empty blocks take no space. Throws when it is not what was packed. */
export async function unpack(from: string, to: string, bytes: number): Promise<void> {
  const file = await open(to, "w", 0o600);
  try {
    const written = await pipeline(
      createReadStream(from, { highWaterMark: CHUNK_BYTES }),
      createZstdDecompress({ chunkSize: CHUNK_BYTES }),
      (chunks: AsyncIterable<Buffer>) => writeSparse(file, chunks),
    );
    if (written !== bytes) throw new Error("a packed file is cut");
    await file.truncate(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function writeSparse(file: FileHandle, chunks: AsyncIterable<Buffer>): Promise<number> {
  let position = 0;
  for await (const chunk of chunks) {
    for (const [from, to] of filled(chunk)) {
      let at = from;
      while (at < to) at += (await file.write(chunk, at, to - at, position + at)).bytesWritten;
    }
    position += chunk.length;
  }
  return position;
}

/** The stretches of a chunk that hold anything, as first byte and end. */
function filled(chunk: Buffer): [number, number][] {
  const found: [number, number][] = [];
  for (let at = 0; at < chunk.length; at += BLOCK_BYTES) {
    const end = Math.min(at + BLOCK_BYTES, chunk.length);
    if (chunk.compare(NOTHING, 0, end - at, at, end) === 0) continue;
    const last = found.at(-1);
    if (last?.[1] === at) last[1] = end;
    else found.push([at, end]);
  }
  return found;
}
