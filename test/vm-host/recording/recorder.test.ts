import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Duplex, duplexPair } from "node:stream";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ByteReader } from "../../../vm-host/screen/byte-reader.ts";
import { Recorder } from "../../../vm-host/recording/recorder.ts";
import { hasEncoder } from "../../../vm-host/recording/vp8.ts";
import { i32, u16 } from "../screen/rfb-bytes.ts";
import { fileOf, lastPicture, timesIn } from "../rig/recorded.ts";

const SIZE = { width: 64, height: 48 };
const QUIET = { info() {}, warn() {}, error() {} } as never;
const WAIT = { timeout: 60_000 };
const RED = 0xff;
const WHITE = 0xffffff;

/** A screen that speaks RFB: it answers a wish for a change when it is painted. */
class TestScreen {
  /** How often it was connected to. */
  dials = 0;
  #size = SIZE;
  #colour = 0;
  /** Count what was painted, and of that the last that was sent before more was asked for. */
  #painted = 0;
  #taken = 0;
  #socket: Duplex | null = null;
  #answer: (() => void) | null = null;

  dial = async (): Promise<Duplex> => {
    this.dials += 1;
    const [own, theirs] = duplexPair();
    this.#socket = own;
    void this.#serve(own).catch(() => own.destroy());
    return theirs;
  };

  paint(colour: number, size = SIZE): void {
    [this.#colour, this.#size] = [colour, size];
    this.#painted += 1;
    this.#answer?.();
  }

  end(): void {
    this.#socket?.destroy();
  }

  /** Waits until what was painted last is recorded. */
  taken(): Promise<void> {
    return expect.poll(() => this.#taken, WAIT).toBe(this.#painted);
  }

  async #serve(own: Duplex): Promise<void> {
    const reader = new ByteReader(own);
    own.write("RFB 003.008\n");
    await reader.take(12);
    own.write(Buffer.from([1, 1]));
    await reader.take(1);
    own.write(Buffer.alloc(4));
    await reader.take(1);
    let [told, sent] = [this.#size, 0];
    own.write(Buffer.concat([u16(told.width, told.height), Buffer.alloc(20)]));
    await reader.take(20);
    await reader.take(4 * (await reader.take(4)).readUInt16BE(2));
    for (;;) {
      const isWhole = (await reader.take(10)).readUInt8(1) === 0;
      this.#taken = sent;
      const isNew = isWhole || sent < this.#painted;
      if (!isNew) await new Promise<void>((resolve) => (this.#answer = resolve));
      this.#answer = null;
      const { width, height } = this.#size;
      const isOther = told !== this.#size;
      told = this.#size;
      const head = [Buffer.from([0, 0]), u16(1, 0, 0, width, height), i32(isOther ? -223 : 0)];
      const pixels = Buffer.alloc(isOther ? 0 : 4 * width * height);
      for (let at = 0; at < pixels.length; at += 4) pixels.writeUInt32LE(this.#colour, at);
      if (!isOther) sent = this.#painted;
      own.write(Buffer.concat([...head, pixels]));
    }
  }
}

describe.skipIf(!(await hasEncoder()))("the recording of a screen", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "recorder-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  function record(screen: TestScreen, isFull = () => false) {
    const parts = new Map<string, Buffer>();
    const recorder = new Recorder({
      dial: screen.dial,
      size: SIZE,
      confinement: null,
      groups: [],
      log: QUIET,
      store: async (name, part) => {
        if (isFull()) throw new Error("ENOSPC");
        parts.set(name, part);
      },
    });
    return { parts, recorder };
  }

  /** The file of these parts; it is whole, and its last picture has this colour, but for what an encoder makes of it. */
  async function played(parts: Map<string, Buffer>) {
    const { bytes, ...recording } = fileOf(parts, SIZE);
    const file = join(folder, "film.webm");
    await writeFile(file, bytes);
    const times = await timesIn(file);
    const png = join(folder, "last.png");
    await lastPicture(file, png);
    // Of a file sharp would remember the one before.
    const picture = await readFile(png);
    const { channels } = await sharp(picture).stats();
    const { width, height } = await sharp(picture).metadata();
    const colour = channels.map(({ mean }) => Math.round(mean));
    return { ...recording, times, colour, sizes: { width, height } };
  }

  test("a still screen is one picture, shown until the recording ends", async () => {
    const screen = new TestScreen();
    screen.paint(WHITE);
    const { parts, recorder } = record(screen);
    await expect.poll(() => parts.size, { timeout: 60_000 }).toBe(1);
    await recorder.close();
    const { times, durationMs, colour, isCut } = await played(parts);
    expect(isCut).toBe(false);
    expect(durationMs).toBeGreaterThanOrEqual(10_000);
    expect(times.length).toBeLessThanOrEqual(2);
    expect(colour.every((mean) => mean > 245)).toBe(true);
  });

  test("goes on with another screen where the first has ended, and ends on what that one shows", async () => {
    const screen = new TestScreen();
    screen.paint(WHITE);
    const { parts, recorder } = record(screen);
    await screen.taken();
    screen.paint(RED);
    screen.end();
    await expect.poll(() => screen.dials, WAIT).toBe(2);
    await screen.taken();
    await recorder.close();
    const { colour, isCut, times } = await played(parts);
    expect(isCut).toBe(false);
    expect(times.length).toBeGreaterThanOrEqual(2);
    expect(colour[0]).toBeGreaterThan(200);
    expect(colour[2]).toBeLessThan(60);
  });

  test("keeps its size when the screen takes another one", async () => {
    const screen = new TestScreen();
    screen.paint(WHITE);
    const { parts, recorder } = record(screen);
    await screen.taken();
    screen.paint(WHITE, { width: 32, height: 48 });
    await screen.taken();
    await recorder.close();
    const { colour, sizes } = await played(parts);
    expect(sizes).toEqual(SIZE);
    // Half of it is the black on both sides.
    expect(colour[0]).toBeGreaterThan(100);
    expect(colour[0]).toBeLessThan(150);
  });

  test("a part that is lost is told of by the next, and the recording goes on", async () => {
    const screen = new TestScreen();
    screen.paint(WHITE);
    let lost = 0;
    const { parts, recorder } = record(screen, () => {
      lost += 1;
      return lost === 1;
    });
    await screen.taken();
    screen.end();
    await expect.poll(() => lost, WAIT).toBe(1);
    screen.paint(RED);
    await screen.taken();
    await recorder.close();
    expect(parts.size).toBe(1);
    expect(await played(parts)).toMatchObject({ isCut: true });
  });
});
