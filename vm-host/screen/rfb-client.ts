import type { Duplex } from "node:stream";
import { LATE, inTime } from "@svc/host-kit/deadline.ts";
import { ByteReader } from "./byte-reader.ts";
import { Frame, ScreenFault, type Update } from "./frame.ts";
import {
  ENCODINGS,
  PIXEL_FORMAT,
  SECURITY_NONE,
  type Size,
  VERSION,
  keyEvent,
  pointerEvent,
  setDesktopSize,
  setEncodings,
  updateRequest,
} from "./messages.ts";

/** How long a screen may take to answer, under emulation on a busy host. */
const ANSWER_MS = 15_000;
/** How often a screen may change its size, or send less than all of it, before a picture. */
const MOST_UPDATES = 8;
const NAME_BYTES = 4096;
const ONE_PIXEL: Size = { width: 1, height: 1 };
const SHARED = Buffer.from([1]);

/** A picture of a whole screen: rows from the top, red, green, blue and a byte of nothing. */
export interface Picture extends Size {
  pixels: Buffer;
}

/** A screen that has changed. */
export interface Change {
  picture: Picture;
  /** How many pixels have changed: all of them when the size has. */
  changed: number;
}

/** A connection to the screen of a machine. What the machine sends is read only while something of it is wanted. */
export class RfbClient {
  readonly #socket: Duplex;
  readonly #reader: ByteReader;
  readonly #frame: Frame;
  #tail: Promise<unknown> = Promise.resolve();

  private constructor(socket: Duplex, reader: ByteReader, frame: Frame) {
    this.#socket = socket;
    this.#reader = reader;
    this.#frame = frame;
  }

  /** Greets the screen. Destroys the socket where that fails. */
  static async open(socket: Duplex): Promise<RfbClient> {
    const reader = new ByteReader(socket);
    try {
      return await timely(greet(socket, reader));
    } catch (error) {
      socket.destroy();
      throw error;
    }

    async function greet(to: Duplex, from: ByteReader): Promise<RfbClient> {
      const version = (await from.take(VERSION.length)).toString("latin1");
      if (!version.startsWith("RFB ")) throw new ScreenFault("what listens there is no screen");
      to.write(VERSION);
      const types = await from.take((await from.take(1)).readUInt8(0));
      if (!types.includes(SECURITY_NONE)) throw new ScreenFault("the screen asks for a password");
      to.write(Buffer.from([SECURITY_NONE]));
      if ((await from.take(4)).readUInt32BE(0) !== 0)
        throw new ScreenFault("the screen refuses its host");
      to.write(SHARED);
      const head = await from.take(24);
      const nameBytes = head.readUInt32BE(20);
      if (nameBytes > NAME_BYTES) throw new ScreenFault("the screen's name is too long");
      await from.take(nameBytes);
      to.write(PIXEL_FORMAT);
      to.write(setEncodings(Object.values(ENCODINGS)));
      const size = { width: head.readUInt16BE(0), height: head.readUInt16BE(2) };
      return new RfbClient(to, from, new Frame(size));
    }
  }

  get isClosed(): boolean {
    return this.#socket.destroyed;
  }

  /** The size of the screen, as far as it has told. */
  get size(): Size {
    return this.#frame.size;
  }

  close(): void {
    this.#socket.destroy();
  }

  /** The screen as it is now, with its pointer. */
  capture(): Promise<Picture> {
    return this.#alone(async () => {
      await this.#whole();
      const { size, pixels } = this.#frame;
      // The next picture is another one.
      return { ...size, pixels: Buffer.from(pixels) };
    });
  }

  /**
   * Waits, for as long as it takes, until the screen has changed since the last picture of this connection. The pixels are
   * good until the next call. For a connection that is used for nothing else.
   */
  async change(): Promise<Change> {
    this.#socket.write(updateRequest(this.#frame.size, true));
    const { pixels: changed, isResized } = await this.#frame.read(this.#reader);
    const { size, pixels } = this.#frame;
    if (!isResized) return { picture: { ...size, pixels }, changed };
    return { picture: await this.capture(), changed: size.width * size.height };
  }

  /** Makes the screen this size. Throws where the screen says no. */
  resize(size: Size): Promise<void> {
    return this.#alone(async () => {
      // The screen says first that it can be resized.
      await this.#whole();
      const { width, height } = this.#frame.size;
      if (width === size.width && height === size.height) return;
      this.#socket.write(setDesktopSize(size));
      this.#socket.write(updateRequest(this.#frame.size, true));
      for (let updates = 0; updates < MOST_UPDATES; updates += 1) {
        const { sizeStatus } = await this.#frame.read(this.#reader);
        if (sizeStatus === 0) return;
        if (sizeStatus !== null)
          throw new ScreenFault(`the screen refuses the size: ${sizeStatus}`);
        this.#socket.write(updateRequest(this.#frame.size, true));
      }
      throw new ScreenFault("the screen does not take another size");
    });
  }

  /** Resolves when the screen has taken all that it was sent, and has told its size. */
  settle(): Promise<void> {
    return this.#alone(async () => {
      this.#socket.write(updateRequest(ONE_PIXEL, false));
      await this.#frame.read(this.#reader);
    });
  }

  key(keysym: number, isDown: boolean): void {
    this.#socket.write(keyEvent(keysym, isDown));
  }

  pointer(x: number, y: number, buttons: number): void {
    this.#socket.write(pointerEvent(x, y, buttons));
  }

  /** Asks for all of the screen until an update has it: the first answer may be its size alone, what follows is still owed. */
  async #whole(): Promise<void> {
    let isOwed = false;
    for (let updates = 0; updates < MOST_UPDATES; updates += 1) {
      this.#socket.write(updateRequest(this.#frame.size, isOwed));
      const { pixels, isResized }: Update = await this.#frame.read(this.#reader);
      const { width, height } = this.#frame.size;
      if (!isResized && pixels >= width * height) return;
      isOwed = !isResized;
    }
    throw new ScreenFault("the screen never sends all of itself");
  }

  /** One after the other. A screen that is late or breaks the protocol loses its connection. */
  #alone<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#tail.then(async () => {
      if (this.isClosed) throw new Error("the connection has ended");
      try {
        return await timely(work());
      } catch (error) {
        this.#socket.destroy();
        throw error;
      }
    });
    this.#tail = done.catch(() => null);
    return done;
  }
}

async function timely<T>(work: Promise<T>): Promise<T> {
  const first = await inTime(work, ANSWER_MS);
  if (first === LATE) throw new ScreenFault("the screen does not answer");
  return first;
}
