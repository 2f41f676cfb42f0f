import { readPartName } from "@svc/contract/host-protocol/recording-part.ts";
import { type Recording, joined } from "../../../control-plane/recording-file.ts";
import { run } from "../../../vm-host/programs.ts";
import type { Size } from "../../../vm-host/screen/messages.ts";

/** What the gateway would serve of these parts, by their names in the object store. */
export function fileOf(parts: Map<string, Buffer>, size: Size): Recording & { bytes: Buffer } {
  const names = [...parts.keys()].toSorted();
  const found = names.flatMap((key) => {
    const part = readPartName(key.slice(key.lastIndexOf("/") + 1));
    return part ? [{ ...part, key, bytes: parts.get(key)?.length ?? 0 }] : [];
  });
  const recording = joined(found, size);
  const bytes = recording.pieces.map((piece) => {
    if ("made" in piece) return piece.made;
    const { key, offset } = piece;
    return parts.get(key)?.subarray(offset, offset + piece.bytes) ?? Buffer.alloc(0);
  });
  return { ...recording, bytes: Buffer.concat(bytes) };
}

/** Decodes a whole file. Throws where a player would see a fault. Answers the times of its pictures, in seconds. */
export async function timesIn(file: string): Promise<number[]> {
  const said = await run("ffmpeg", [...QUIET, "-i", file, "-f", "null", "-"]);
  if (said !== "") throw new Error(said);
  const fields = ["-show_entries", "packet=pts_time", "-of", "csv=p=0"];
  const times = await run("ffprobe", ["-loglevel", "error", ...fields, file]);
  return times.trim().split("\n").map(Number);
}

/** How long a player says that a file is, in seconds. */
export async function lengthOf(file: string): Promise<number> {
  const fields = ["-show_entries", "format=duration", "-of", "csv=p=0"];
  return Number(await run("ffprobe", ["-loglevel", "error", ...fields, file]));
}

/** Writes the last picture of a file to a PNG. */
export async function lastPicture(file: string, into: string): Promise<void> {
  await run("ffmpeg", [
    ...QUIET,
    "-i",
    file,
    "-fps_mode",
    "passthrough",
    "-update",
    "1",
    "-y",
    into,
  ]);
}

const QUIET = ["-hide_banner", "-loglevel", "error", "-nostdin"];
