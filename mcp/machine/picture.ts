import type { Screenshot } from "@svc/sdk/channel/computer.ts";
import { ControlError } from "@svc/sdk/errors.ts";
import { PICTURE_BASE64 } from "../answer.ts";
import type { Block } from "../tool.ts";
import { toBase64 } from "./base64.ts";
import type { Machine } from "./connection.ts";

/** The longest picture of an answer, in bytes. */
export const PICTURE_BYTES = Math.floor(PICTURE_BASE64 / 4) * 3;

/** How long an action's picture waits for the screen to rest: a program may draw for ever. */
const STILL = { stillMs: 300, limitMs: 3_000 };

/** Qualities and scales that are tried in turn where a picture is too large; at 1:1 first, so that coordinates fit. */
const SMALLER = [
  { quality: 50, scale: 1 },
  { quality: 25, scale: 1 },
  { quality: 10, scale: 1 },
  { quality: 10, scale: 0.5 },
  { quality: 10, scale: 0.25 },
] as const;

/** How a picture is wanted. */
export interface PictureWish {
  format: "jpeg" | "png";
  quality: number;
}

/** A picture of the screen as a block, with its facts. `scale` is there where the picture is smaller than the screen. */
export async function pictureOf(
  machine: Machine,
  wish: PictureWish,
  signal: AbortSignal,
): Promise<{ facts: Record<string, unknown>; block: Block }> {
  const [first, cursor] = await Promise.all([
    machine.computer.screenshot({ ...wish }, { signal }),
    machine.computer.cursor({ signal }),
  ]);
  const { picture, scale } = await fitting(machine, first, wish.quality, signal);
  const { width, height, format, bytes } = picture;
  const facts = {
    width: Math.round(width / scale),
    height: Math.round(height / scale),
    format,
    cursor,
    ...(scale < 1 && { scale }),
  };
  return { facts, block: { type: "image", data: toBase64(bytes), mimeType: `image/${format}` } };
}

async function fitting(
  machine: Machine,
  first: Screenshot,
  quality: number,
  signal: AbortSignal,
): Promise<{ picture: Screenshot; scale: number }> {
  let [picture, scale]: [Screenshot, number] = [first, 1];
  for (const smaller of SMALLER) {
    if (picture.bytes.length <= PICTURE_BYTES) break;
    if (smaller.quality > quality && first.format === "jpeg") continue;
    ({ scale } = smaller);
    picture = await machine.computer.screenshot({ format: "jpeg", ...smaller }, { signal });
  }
  return { picture, scale };
}

/** The picture after an action: taken once the screen rests, or after a while. */
export async function pictureAfter(machine: Machine, signal: AbortSignal) {
  await machine.computer.wait(STILL, { signal }).catch((error: unknown) => {
    // Other calls wait for this screen already: the picture comes without a wait.
    if (!(error instanceof ControlError && error.code === "Busy")) throw error;
  });
  return pictureOf(machine, { format: "jpeg", quality: 80 }, signal);
}
