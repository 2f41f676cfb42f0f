import { type BytePlace, placeOf, readRange } from "@svc/contract/byte-range.ts";
import { ApiError } from "@svc/contract/errors.ts";
import {
  type RecordingName,
  readRecording,
  recordingBytes,
} from "../../../control-plane/recordings.ts";
import type { AppContext } from "../../context.ts";
import { invalidUrl } from "./invalid-url.ts";

/** Serves what is stored of a recording as one file, or one range of it. What is there keeps its place when the file grows. */
export async function serveRecording(
  c: AppContext,
  name: RecordingName,
  contentType: string,
): Promise<Response> {
  const { DB, OBJECTS } = c.env;
  const recording = await readRecording(DB, OBJECTS, name, Date.now());
  if (!recording || recording.durationMs === 0) throw invalidUrl();
  const { sizeBytes, durationMs } = recording;
  const etag = `"${sizeBytes}-${durationMs}"`;
  const headers = new Headers({
    "content-type": contentType,
    "cache-control": "private, no-transform",
    "accept-ranges": "bytes",
    etag,
  });
  // A range of the file as it was is of no use to who has another one.
  const isSame = [undefined, etag].includes(c.req.header("if-range"));
  const wanted = isSame ? readRange(c.req.header("range")) : null;
  const place: BytePlace = wanted ? placeOf(wanted, sizeBytes) : { offset: 0, length: sizeBytes };
  const { offset, length } = place;
  if (length <= 0)
    throw new ApiError("RangeNotSatisfiable", "The recording ends before this range.");
  headers.set("content-length", String(length));
  if (wanted) headers.set("content-range", `bytes ${offset}-${offset + length - 1}/${sizeBytes}`);
  const body = recordingBytes(OBJECTS, recording, place);
  return new Response(body, { status: wanted ? 206 : 200, headers });
}
