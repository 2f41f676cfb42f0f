import sharp from "sharp";
import { openControlClient } from "./control-client.ts";

/** The screen of a desktop, by its control socket. */
export async function screenshotOf(controlUrl: string, headers?: Record<string, string>) {
  const { client, socket } = await openControlClient(controlUrl, headers);
  const parts: Buffer[] = [];
  try {
    const { result } = client.call(
      "computer.screenshot",
      {},
      { onBytes: (_channel, bytes) => void parts.push(Buffer.from(bytes)) },
    );
    const { width, height } = await result;
    return { width, height, png: Buffer.concat(parts) };
  } finally {
    socket.terminate();
  }
}

/**
 * The part of two pictures that differs, 0 to 1: pixels of which a colour is further than `near` from the other's. Pictures
 * of two sizes differ everywhere.
 */
export async function differing(one: Buffer, other: Buffer, near = 0): Promise<number> {
  const [left, right] = await Promise.all([one, other].map(pixelsOf));
  if (!left || !right || left.info.width !== right.info.width) return 1;
  const { width, height, channels } = left.info;
  const isFar = (at: number): boolean =>
    Math.abs((left.data[at] ?? 0) - (right.data[at] ?? 0)) > near;
  let count = 0;
  for (let at = 0; at < left.data.length; at += channels)
    if (isFar(at) || isFar(at + 1) || isFar(at + 2)) count += 1;
  return count / (width * height);
}

const pixelsOf = (png: Buffer) =>
  sharp(png).removeAlpha().raw().toBuffer({ resolveWithObject: true });
