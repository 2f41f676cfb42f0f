import type { Block, ToolResult } from "../tool.ts";
import { toBase64 } from "./base64.ts";
import type { Machine } from "./connection.ts";
import { PICTURE_BYTES } from "./picture.ts";

/** Bytes of the longest character of UTF-8: no part is shorter, so that each part goes on. */
const CHARACTER_BYTES = 4;

/** Which part of a file is wanted, and how. */
export interface ReadWish {
  encoding: "utf8" | "base64";
  offset: number;
  maxBytes: number;
  signal: AbortSignal;
}

const PICTURES = [
  ["image/png", [0x89, 0x50, 0x4e, 0x47]],
  ["image/jpeg", [0xff, 0xd8, 0xff]],
] as const;

/** Reads a file, or a part of it, as what it is: a text, a picture, or bytes. */
export async function readGuestFile(
  machine: Machine,
  path: string,
  wish: ReadWish,
): Promise<ToolResult> {
  const { encoding, offset, maxBytes, signal } = wish;
  const length = encoding === "utf8" ? Math.max(maxBytes, CHARACTER_BYTES) : maxBytes;
  const { data, size } = await machine.files.readPart(path, { offset, length, signal });
  const picture = encoding === "utf8" && offset === 0 ? pictureType(data) : undefined;
  if (picture) return pictureFile(machine, path, { data, size, picture, signal });
  const isText = encoding === "utf8" && !data.includes(0);
  const { text, used } = isText ? textOf(data, data.length === length) : bytesOf(data, encoding);
  const end = offset + used;
  // A file in /proc tells no size: it may have more when it filled the part.
  const truncated = end < size || (size === 0 && data.length === length);
  const isBinary = encoding === "utf8" && !isText;
  return {
    json: {
      path,
      size,
      encoding: isText ? "utf8" : "base64",
      ...(isBinary && { note: "It is no text. encoding base64 reads its bytes." }),
      truncated,
      ...(truncated && !isBinary && { nextOffset: end }),
      ...((truncated || isBinary) && (await urlOf(machine, path, signal))),
    },
    ...(!isBinary && { blocks: [{ type: "text", text }] satisfies Block[] }),
  };
}

function pictureType(data: Uint8Array): "image/png" | "image/jpeg" | undefined {
  return PICTURES.find(([, magic]) => magic.every((byte, at) => data[at] === byte))?.[0];
}

/** A picture is shown whole, or not at all. */
async function pictureFile(
  machine: Machine,
  path: string,
  { data, size, picture, signal }: PictureFile,
): Promise<ToolResult> {
  if (size > PICTURE_BYTES) {
    const note = `The picture is larger than ${PICTURE_BYTES} bytes: make it smaller with svc_run_code, or fetch it.`;
    const url = await urlOf(machine, path, signal);
    return { json: { path, size, mimeType: picture, note, truncated: true, ...url } };
  }
  const isWhole = data.length >= size;
  const all = isWhole ? data : await machine.files.readBytes(path, { length: size, signal });
  return {
    json: { path, size, mimeType: picture, truncated: false },
    blocks: [{ type: "image", data: toBase64(all), mimeType: picture }],
  };
}

interface PictureFile {
  data: Uint8Array;
  size: number;
  picture: "image/png" | "image/jpeg";
  signal: AbortSignal;
}

const bytesOf = (data: Uint8Array, encoding: ReadWish["encoding"]) => ({
  text: encoding === "base64" ? toBase64(data) : "",
  used: data.length,
});

/** The text of whole characters: one that the end of the part cuts belongs to the next part. */
function textOf(data: Uint8Array, mayBeCut: boolean): { text: string; used: number } {
  const used = data.length - (mayBeCut ? begunBytes(data) : 0);
  return { text: new TextDecoder().decode(data.subarray(0, used)), used };
}

/** How many bytes at the end begin a character that is not there whole. */
function begunBytes(data: Uint8Array): number {
  for (let back = 1; back < CHARACTER_BYTES; back += 1) {
    const byte = data[data.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const whole = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return whole > back ? back : 0;
  }
  return 0;
}

async function urlOf(
  machine: Machine,
  path: string,
  signal: AbortSignal,
): Promise<{ downloadUrl: string }> {
  return { downloadUrl: (await machine.transfer.downloadUrl(path, { signal })).url };
}
