import { clusterHead } from "@svc/contract/host-protocol/recording-part.ts";

/** A cluster of a file that is to be put together: when it begins, and its bytes in all. */
export interface Cluster {
  timestampMs: number;
  bytes: number;
}

/** What a WebM file of given clusters has around them. */
export interface WebmFrame {
  /** Before the first cluster. As long whatever the clusters are: a file that grows keeps the places of its clusters. */
  head: Uint8Array;
  /** Of each cluster, in place of as many bytes of its own. */
  clusterHeads: Uint8Array[];
  /** After the last: where the clusters lie, for players that jump. */
  cues: Uint8Array;
}

const ID = {
  ebml: [0x1a, 0x45, 0xdf, 0xa3],
  ebmlVersion: [0x42, 0x86],
  ebmlReadVersion: [0x42, 0xf7],
  ebmlMaxIdLength: [0x42, 0xf2],
  ebmlMaxSizeLength: [0x42, 0xf3],
  docType: [0x42, 0x82],
  docTypeVersion: [0x42, 0x87],
  docTypeReadVersion: [0x42, 0x85],
  segment: [0x18, 0x53, 0x80, 0x67],
  seekHead: [0x11, 0x4d, 0x9b, 0x74],
  seek: [0x4d, 0xbb],
  seekId: [0x53, 0xab],
  seekPosition: [0x53, 0xac],
  info: [0x15, 0x49, 0xa9, 0x66],
  timestampScale: [0x2a, 0xd7, 0xb1],
  duration: [0x44, 0x89],
  muxingApp: [0x4d, 0x80],
  writingApp: [0x57, 0x41],
  tracks: [0x16, 0x54, 0xae, 0x6b],
  trackEntry: [0xae],
  trackNumber: [0xd7],
  trackUid: [0x73, 0xc5],
  trackType: [0x83],
  flagLacing: [0x9c],
  codecId: [0x86],
  video: [0xe0],
  pixelWidth: [0xb0],
  pixelHeight: [0xba],
  cues: [0x1c, 0x53, 0xbb, 0x6b],
  cuePoint: [0xbb],
  cueTime: [0xb3],
  cueTrackPositions: [0xb7],
  cueTrack: [0xf7],
  cueClusterPosition: [0xf1],
} as const;

const TRACK = 1;
const VIDEO = 1;
/** Timestamps are milliseconds. */
const SCALE_NS = 1_000_000;
const APP = "svc";

type Bytes = readonly number[] | Uint8Array;

/** The file around these clusters, of one VP8 video. */
export function frameOf(
  clusters: readonly Cluster[],
  { width, height, durationMs }: { width: number; height: number; durationMs: number },
): WebmFrame {
  const info = element(ID.info, [
    uint(ID.timestampScale, SCALE_NS),
    element(ID.duration, [float(durationMs)]),
    text(ID.muxingApp, APP),
    text(ID.writingApp, APP),
  ]);
  const video = element(ID.video, [uint(ID.pixelWidth, width), uint(ID.pixelHeight, height)]);
  const track = element(ID.trackEntry, [
    uint(ID.trackNumber, TRACK),
    uint(ID.trackUid, TRACK),
    uint(ID.trackType, VIDEO),
    uint(ID.flagLacing, 0),
    text(ID.codecId, "V_VP8"),
    video,
  ]);
  const rest = join([info, element(ID.tracks, [track])]);
  const clustersAt = seekHead(0).length + rest.length;
  let cuesAt = clustersAt;
  const points = clusters.map(({ timestampMs, bytes }) => {
    const point = cuePoint(timestampMs, cuesAt);
    cuesAt += bytes;
    return point;
  });
  const cues = element(ID.cues, points);
  const before = join([seekHead(cuesAt), rest]);
  const segmentBytes = cuesAt + cues.length;
  const head = join([ebmlHead(), join([ID.segment, sizeOf(segmentBytes)]), before]);
  const clusterHeads = clusters.map(({ bytes, timestampMs }) => clusterHead(bytes, timestampMs));
  return { head, clusterHeads, cues };
}

function ebmlHead(): Uint8Array {
  return element(ID.ebml, [
    uint(ID.ebmlVersion, 1),
    uint(ID.ebmlReadVersion, 1),
    uint(ID.ebmlMaxIdLength, 4),
    uint(ID.ebmlMaxSizeLength, 8),
    text(ID.docType, "webm"),
    uint(ID.docTypeVersion, 2),
    uint(ID.docTypeReadVersion, 2),
  ]);
}

const seekHead = (cuesAt: number): Uint8Array =>
  element(ID.seekHead, [
    element(ID.seek, [element(ID.seekId, [ID.cues]), uint(ID.seekPosition, cuesAt)]),
  ]);

const cuePoint = (timestampMs: number, clusterAt: number): Uint8Array =>
  element(ID.cuePoint, [
    uint(ID.cueTime, timestampMs),
    element(ID.cueTrackPositions, [
      uint(ID.cueTrack, TRACK),
      uint(ID.cueClusterPosition, clusterAt),
    ]),
  ]);

const element = (id: Bytes, body: Bytes[]): Uint8Array => {
  const bytes = join(body);
  return join([id, sizeOf(bytes.length), bytes]);
};

/** Always eight bytes: a size or number that changes moves nothing. */
function sizeOf(bytes: number): Uint8Array {
  const size = eight(bytes);
  size[0] = 0x01;
  return size;
}

const uint = (id: Bytes, value: number): Uint8Array => element(id, [eight(Math.round(value))]);
const text = (id: Bytes, value: string): Uint8Array =>
  element(id, [new TextEncoder().encode(value)]);

function eight(value: number): Uint8Array {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, BigInt(value));
  return new Uint8Array(view.buffer);
}

function float(value: number): Uint8Array {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  return new Uint8Array(view.buffer);
}

function join(parts: Bytes[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
