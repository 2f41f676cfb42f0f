import { RAW } from "./names.ts";

/** What a watch can tell, and how one is asked for: the kernel's bits. */
export const IN = {
  modify: 0x2,
  attributes: 0x4,
  movedFrom: 0x40,
  movedTo: 0x80,
  create: 0x100,
  delete: 0x200,
  /** Of the watched folder itself. */
  deleteSelf: 0x400,
  moveSelf: 0x800,
  /** Events were lost, of any watch. */
  overflow: 0x4000,
  /** The watch has ended, with its folder or by order. */
  ignored: 0x8000,
  onlyFolders: 0x100_0000,
  followNoLink: 0x200_0000,
  /** Files that are still open and have no name any more are not told of. */
  onlyNamed: 0x400_0000,
  isFolder: 0x4000_0000,
} as const;

/** One event of a watch. */
export interface InotifyEvent {
  watch: number;
  mask: number;
  /** Joins the two halves of a move. */
  cookie: number;
  /** As Node reads names raw; empty: the folder itself. */
  name: string;
}

const HEAD_BYTES = 16;
const isLittleEndian = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;

/** Events as the kernel writes them: watch, mask, cookie, length, and a name that is filled up with NUL. */
export function* eventsIn(bytes: Buffer): Generator<InotifyEvent> {
  const u32 = (at: number): number =>
    isLittleEndian ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at);
  for (let at = 0; at + HEAD_BYTES <= bytes.length;) {
    const from = at + HEAD_BYTES;
    const to = from + u32(at + 12);
    const end = bytes.indexOf(0, from);
    const name = bytes.toString(RAW, from, end < 0 || end > to ? to : end);
    yield { watch: u32(at), mask: u32(at + 4), cookie: u32(at + 8), name };
    at = to;
  }
}
