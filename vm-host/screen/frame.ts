import { SCREEN_MOST } from "@svc/contract/vm/machine.ts";
import type { ByteReader } from "./byte-reader.ts";
import { ENCODINGS, FROM_SCREEN, PIXEL_BYTES, type Size } from "./messages.ts";

/** Other messages that a screen may say before the one that it was asked for. */
const MOST_ASIDE = 1_000;
/** Longest text of its clipboard that is read over. */
const CUT_TEXT_BYTES = 1024 * 1024;
/** A screen may send a part of itself more than once, within reason. */
const MOST_AREAS = 4;
/** How often a screen may change its size in one update: each change clears a picture of up to 32 MiB. */
const MOST_SIZES = 4;
const COLOUR_BYTES = 6;
const DISPLAY_BYTES = 16;

/** Answers of a screen to the wish for another size. */
const BY_THIS_CLIENT = 1;

/** The screen broke the protocol, or sent more than a screen of its size can. */
export class ScreenFault extends Error {
  override readonly name = "ScreenFault";
}

interface Rectangle extends Size {
  x: number;
  y: number;
  encoding: number;
}

/** What an update was about. */
export interface Update {
  /** How many pixels it brought. */
  pixels: number;
  /** The screen has another size than before. */
  isResized: boolean;
  /** How many sizes the screen has had in it. */
  sizes: number;
  /** The answer to this client's wish for a size: 0 is yes. */
  sizeStatus: number | null;
}

/** The picture of a screen, as far as its updates have told. What a guest sends is bounded by the screen's size. */
export class Frame {
  size: Size;
  /** Rows from the top, `PIXEL_BYTES` a pixel. */
  pixels: Buffer;

  constructor(size: Size) {
    this.size = checked(size);
    this.pixels = blank(size);
  }

  /** Reads over what a screen says until it sends an update, and takes that in. */
  async read(reader: ByteReader): Promise<Update> {
    for (let aside = 0; aside < MOST_ASIDE; aside += 1) {
      const type = (await reader.take(1)).readUInt8(0);
      if (type === FROM_SCREEN.update) return this.#update(reader);
      await skip(reader, type);
    }
    throw new ScreenFault("the screen does not send its picture");
  }

  async #update(reader: ByteReader): Promise<Update> {
    const update: Update = { pixels: 0, isResized: false, sizes: 0, sizeStatus: null };
    const count = (await reader.take(3)).readUInt16BE(1);
    for (let at = 0; at < count; at += 1) await this.#rectangle(reader, update);
    return update;
  }

  async #rectangle(reader: ByteReader, update: Update): Promise<void> {
    const head = await reader.take(12);
    const [x, y, width, height] = [0, 2, 4, 6].map((at) => head.readUInt16BE(at)) as Four;
    const rectangle: Rectangle = { x, y, width, height, encoding: head.readInt32BE(8) };
    switch (rectangle.encoding) {
      case ENCODINGS.raw:
        return this.#raw(reader, rectangle, update);
      case ENCODINGS.extendedDesktopSize: {
        const displays = (await reader.take(4)).readUInt8(0);
        await reader.take(displays * DISPLAY_BYTES);
        if (x === BY_THIS_CLIENT) update.sizeStatus = y;
        if (x === BY_THIS_CLIENT && y !== 0) return undefined;
        return this.#resized(rectangle, update);
      }
      case ENCODINGS.desktopSize:
        return this.#resized(rectangle, update);
      default:
        throw new ScreenFault(`an encoding that was not asked for: ${rectangle.encoding}`);
    }
  }

  #resized(size: Size, update: Update): void {
    const { width, height } = this.size;
    if (size.width === width && size.height === height) return;
    update.sizes += 1;
    if (update.sizes > MOST_SIZES) throw new ScreenFault("the screen never keeps its size");
    this.size = checked(size);
    this.pixels = blank(size);
    update.isResized = true;
    update.pixels = 0;
  }

  async #raw(reader: ByteReader, rectangle: Rectangle, update: Update): Promise<void> {
    const { x, y, width, height } = rectangle;
    const { size, pixels } = this;
    if (x + width > size.width || y + height > size.height)
      throw new ScreenFault("a rectangle lies outside of the screen");
    update.pixels += width * height;
    if (update.pixels > MOST_AREAS * size.width * size.height)
      throw new ScreenFault("an update is larger than the screen");
    const bytes = await reader.take(width * height * PIXEL_BYTES);
    const rowBytes = width * PIXEL_BYTES;
    for (let row = 0; row < height; row += 1)
      bytes.copy(
        pixels,
        ((y + row) * size.width + x) * PIXEL_BYTES,
        row * rowBytes,
        (row + 1) * rowBytes,
      );
  }
}

type Four = [number, number, number, number];

async function skip(reader: ByteReader, type: number): Promise<void> {
  switch (type) {
    case FROM_SCREEN.bell:
      return;
    case FROM_SCREEN.colourMap: {
      const colours = (await reader.take(5)).readUInt16BE(3);
      await reader.take(colours * COLOUR_BYTES);
      return;
    }
    case FROM_SCREEN.cutText: {
      const length = (await reader.take(7)).readUInt32BE(3);
      if (length > CUT_TEXT_BYTES) throw new ScreenFault("its clipboard is too long");
      await reader.take(length);
      return;
    }
    default:
      throw new ScreenFault(`a message that was not asked for: ${type}`);
  }
}

function checked(size: Size): Size {
  const { width, height } = size;
  if (width > SCREEN_MOST.width || height > SCREEN_MOST.height || width === 0 || height === 0)
    throw new ScreenFault(`the screen has ${width}x${height}, which is not served`);
  return { width, height };
}

const blank = ({ width, height }: Size): Buffer => Buffer.alloc(width * height * PIXEL_BYTES);
