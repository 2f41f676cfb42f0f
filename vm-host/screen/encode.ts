import { refuse } from "@svc/contract/control-channel/refusals.ts";
import sharp from "sharp";
import type { Picture } from "./rfb-client.ts";

/** Which part of a picture is wanted, and how. */
export interface Wish {
  format: "png" | "jpeg";
  quality: number;
  region?: { x: number; y: number; width: number; height: number };
  scale: number;
}

export interface Encoded {
  bytes: Buffer;
  width: number;
  height: number;
}

/** A picture of a screen is large and simple: more effort takes longer and saves little. */
const PNG_EFFORT = 3;

// Pictures of many desktops share the processors of the host with its machines.
sharp.concurrency(1);
sharp.cache(false);

/** Makes a file of a picture. Throws `OutOfBounds` where the region is not on the screen. */
export async function encode(picture: Picture, wish: Wish): Promise<Encoded> {
  const { width, height, pixels } = picture;
  const region = wish.region ?? { x: 0, y: 0, width, height };
  const { x: left, y: top } = region;
  if (left < 0 || top < 0 || left + region.width > width || top + region.height > height)
    throw refuse("OutOfBounds", `The region is not on the screen, which has ${width}x${height}.`);
  const [across, down] = [region.width, region.height].map((side) =>
    Math.max(1, Math.round(side * wish.scale)),
  ) as [number, number];
  const image = sharp(pixels, { raw: { width, height, channels: 4 } })
    .removeAlpha()
    .extract({ left, top, width: region.width, height: region.height })
    .resize(across, down, { fit: "fill" });
  const { quality } = wish;
  const made =
    wish.format === "png" ? image.png({ compressionLevel: PNG_EFFORT }) : image.jpeg({ quality });
  return { bytes: await made.toBuffer(), width: across, height: down };
}
