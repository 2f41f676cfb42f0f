import { CLUSTER_HEAD_BYTES, clusterHead } from "@svc/contract/host-protocol/recording-part.ts";

const IVF_HEAD_BYTES = 32;
const IVF_FRAME_HEAD_BYTES = 12;
const SIMPLE_BLOCK = 0xa3;
/** A size that is written with four bytes. */
const SIZE_OF_FOUR = 0x10000000;
const TRACK = 0x81;
const KEY = 0x80;
/** Of a block before its picture: the track, its time, its flags. */
const BLOCK_HEAD_BYTES = 4;
/** Of a frame of VP8: its first bit is 0 in a whole picture. */
const IS_DELTA = 1;

/**
 * A cluster of WebM of the pictures in a stream of IVF. `timesMs`: when each was there, from the beginning of the cluster on.
 * Throws where they are not as many.
 */
export function clusterOf(ivf: Buffer, timesMs: readonly number[]): Buffer {
  const blocks: Buffer[] = [];
  let at = IVF_HEAD_BYTES;
  for (const time of timesMs) {
    const end = at + IVF_FRAME_HEAD_BYTES;
    if (end > ivf.length) throw new Error("the encoder has left pictures out");
    const frame = ivf.subarray(end, end + ivf.readUInt32LE(at));
    at = end + frame.length;
    if (frame.length > 0) blocks.push(blockHead(frame, time), frame);
  }
  if (at !== ivf.length) throw new Error("the encoder has made up pictures");
  const bytes = blocks.reduce((sum, { length }) => sum + length, CLUSTER_HEAD_BYTES);
  return Buffer.concat([clusterHead(bytes, 0), ...blocks]);
}

function blockHead(frame: Buffer, timeMs: number): Buffer {
  const head = Buffer.alloc(9);
  head.writeUInt8(SIMPLE_BLOCK, 0);
  head.writeUInt32BE(SIZE_OF_FOUR + BLOCK_HEAD_BYTES + frame.length, 1);
  head.writeUInt8(TRACK, 5);
  head.writeInt16BE(Math.round(timeMs), 6);
  head.writeUInt8((frame.readUInt8(0) & IS_DELTA) === 0 ? KEY : 0, 8);
  return head;
}
