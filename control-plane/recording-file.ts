import {
  CLUSTER_HEAD_BYTES,
  type RecordingPart,
} from "@svc/contract/host-protocol/recording-part.ts";
import { frameOf } from "./webm.ts";

/** A part in the object store. */
export interface StoredPart extends RecordingPart {
  key: string;
  bytes: number;
}

/** A recording as one file. */
export interface Recording {
  durationMs: number;
  /** Something of it was lost. */
  isCut: boolean;
  sizeBytes: number;
  pieces: Piece[];
}

/** Bytes of a recording: made here, or of an object from `offset` on. */
export type Piece = { made: Uint8Array } | { key: string; offset: number; bytes: number };

/** Puts parts in their places in time: run after run, and within a run where they were. */
export function joined(parts: StoredPart[], size: { width: number; height: number }): Recording {
  let [run, runStartMs, durationMs] = [0, 0, 0];
  const clusters = parts.map(({ runAt, offsetMs, durationMs: lengthMs, bytes }) => {
    if (runAt !== run) [run, runStartMs] = [runAt, durationMs];
    durationMs = Math.max(durationMs, runStartMs + offsetMs + lengthMs);
    return { timestampMs: runStartMs + offsetMs, bytes };
  });
  const { head, clusterHeads, cues } = frameOf(clusters, { ...size, durationMs });
  const middle = parts.flatMap(({ key, bytes }, at): Piece[] => [
    { made: clusterHeads[at] ?? new Uint8Array() },
    { key, offset: CLUSTER_HEAD_BYTES, bytes: bytes - CLUSTER_HEAD_BYTES },
  ]);
  const pieces: Piece[] = [{ made: head }, ...middle, { made: cues }];
  const sizeBytes = pieces.reduce((sum, piece) => sum + lengthOf(piece), 0);
  return { durationMs, isCut: parts.some(({ isCut }) => isCut), sizeBytes, pieces };
}

export const lengthOf = (piece: Piece): number =>
  "made" in piece ? piece.made.length : piece.bytes;
