/**
 * A part of a desktop's recording, as its host stores it: one cluster of WebM (RFC 9559) that begins with a whole picture,
 * so that parts are joined by putting them one after the other. Its name says where it lies in time.
 */
export interface RecordingPart {
  /** When the machine of this part began to run, by its host's clock: pauses lie between runs, and are not shown. */
  runAt: number;
  /** From that moment on, in ms. */
  offsetMs: number;
  durationMs: number;
  /** Something before it, or after the last one, was lost. */
  isCut: boolean;
}

/** A part is at most so long: as much is lost with a host that is killed. */
export const PART_MS = 10_000;
/** A cluster's id and size, and its timestamp: all that is written again when parts are joined. */
export const CLUSTER_HEAD_BYTES = 22;

const NAME = /^(\d{15})-(\d{12})-(\d{6})(-cut)?\.webm$/;
const CLUSTER_ID = 0x1f43b675;
/** Sizes and numbers are written with eight bytes, whatever they are. */
const SIZE_OF_EIGHT = 0x01;
const TIMESTAMP = [0xe7, 0x88] as const;

/** Names sort as the parts lie in time. */
export function partName({ runAt, offsetMs, durationMs, isCut }: RecordingPart): string {
  const digits = (value: number, width: number): string =>
    String(Math.round(value)).padStart(width, "0");
  const place = [digits(runAt, 15), digits(offsetMs, 12), digits(durationMs, 6)].join("-");
  return `${place}${isCut ? "-cut" : ""}.webm`;
}

/** Null: not the name of a part. */
export function readPartName(name: string): RecordingPart | null {
  const [, runAt, offsetMs, durationMs, cut] = NAME.exec(name) ?? [];
  if (runAt === undefined) return null;
  return {
    runAt: Number(runAt),
    offsetMs: Number(offsetMs),
    durationMs: Number(durationMs),
    isCut: cut !== undefined,
  };
}

/** The first bytes of a cluster of `bytes` in all. */
export function clusterHead(bytes: number, timestampMs: number): Uint8Array<ArrayBuffer> {
  const head = new DataView(new ArrayBuffer(CLUSTER_HEAD_BYTES));
  head.setUint32(0, CLUSTER_ID);
  // What follows id and size.
  head.setBigUint64(4, BigInt(bytes - 12));
  head.setUint8(4, SIZE_OF_EIGHT);
  head.setUint8(12, TIMESTAMP[0]);
  head.setUint8(13, TIMESTAMP[1]);
  head.setBigUint64(14, BigInt(Math.round(timestampMs)));
  return new Uint8Array(head.buffer);
}
