import { closeSync, ftruncateSync, openSync, readSync, writeSync } from "node:fs";

const MAGIC = 0x514649fb;
const VERSION = 3;
const CLUSTER_BITS = 16;
const CLUSTER_BYTES = 2 ** CLUSTER_BITS;
/** What one entry of the first table covers: a cluster of entries, a cluster each. */
const ENTRY_BYTES = (CLUSTER_BYTES / 8) * CLUSTER_BYTES;
const HEADER_BYTES = 104;
const SIZE_AT = 24;
/** Counts of uses have 2^4 bits. */
const REFCOUNT_ORDER = 4;
const FORMAT_EXTENSION = 0xe2792aca;
/** Header, table of counts, counts, first table: one cluster each, in this order. */
const CLUSTERS = 4;
const LONGEST_NAME = 1023;

/**
 * Writes an empty qcow2 file (version 3) over another one, as `qemu-img create -b` does: that program takes longer to start
 * than a machine to load its state.
 */
export function writeEmptyLayer(
  path: string,
  over: { file: string; format: string },
  bytes: number,
): void {
  const name = Buffer.from(over.file);
  if (name.length > LONGEST_NAME) throw new Error("the path below a layer is too long");
  const file = openSync(path, "wx", 0o644);
  try {
    writeSync(file, headerOf(name, over.format, bytes), 0, undefined, 0);
    const counts = Buffer.alloc(8);
    counts.writeBigUInt64BE(BigInt(2 * CLUSTER_BYTES));
    writeSync(file, counts, 0, 8, CLUSTER_BYTES);
    for (let cluster = 0; cluster < CLUSTERS; cluster += 1) counts.writeUInt16BE(1, 2 * cluster);
    writeSync(file, counts, 0, 2 * CLUSTERS, 2 * CLUSTER_BYTES);
    ftruncateSync(file, CLUSTERS * CLUSTER_BYTES);
  } finally {
    closeSync(file);
  }
}

/** The size of the disk that a qcow2 file is. */
export function diskBytesOf(path: string): number {
  const file = openSync(path, "r");
  try {
    const head = Buffer.alloc(SIZE_AT + 8);
    const read = readSync(file, head, 0, head.length, 0);
    if (read < head.length || head.readUInt32BE(0) !== MAGIC) throw new Error("not a qcow2 file");
    return Number(head.readBigUInt64BE(SIZE_AT));
  } finally {
    closeSync(file);
  }
}

function headerOf(name: Buffer, format: string, bytes: number): Buffer {
  const extension = Buffer.alloc(8 + Math.ceil(format.length / 8) * 8);
  extension.writeUInt32BE(FORMAT_EXTENSION, 0);
  extension.writeUInt32BE(format.length, 4);
  extension.write(format, 8, "latin1");
  const end = Buffer.alloc(8);
  const head = Buffer.alloc(HEADER_BYTES);
  head.writeUInt32BE(MAGIC, 0);
  head.writeUInt32BE(VERSION, 4);
  head.writeBigUInt64BE(BigInt(HEADER_BYTES + extension.length + end.length), 8);
  head.writeUInt32BE(name.length, 16);
  head.writeUInt32BE(CLUSTER_BITS, 20);
  head.writeBigUInt64BE(BigInt(bytes), SIZE_AT);
  const entries = Math.ceil(bytes / ENTRY_BYTES);
  if (entries * 8 > CLUSTER_BYTES) throw new Error("a disk is too large for a layer");
  head.writeUInt32BE(entries, 36);
  head.writeBigUInt64BE(BigInt(3 * CLUSTER_BYTES), 40);
  head.writeBigUInt64BE(BigInt(CLUSTER_BYTES), 48);
  head.writeUInt32BE(1, 56);
  head.writeUInt32BE(REFCOUNT_ORDER, 96);
  head.writeUInt32BE(HEADER_BYTES, 100);
  return Buffer.concat([head, extension, end, name]);
}
