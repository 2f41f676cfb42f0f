import { duplexPair } from "node:stream";
import { afterEach, expect, test } from "vitest";
import { RfbClient } from "../../../vm-host/screen/rfb-client.ts";
import { i32, u16 } from "./rfb-bytes.ts";

/** The screen's end of the connection. */
let [screen, socket] = duplexPair();
afterEach(() => {
  screen.destroy();
  [screen, socket] = duplexPair();
});

const greeting = (width: number, height: number): Buffer =>
  Buffer.concat([
    Buffer.from("RFB 003.008\n"),
    Buffer.from([1, 1]),
    i32(0),
    u16(width, height),
    Buffer.alloc(16),
    i32(0),
  ]);
type Box = [number, number, number, number];
const rectangle = (box: Box, encoding: number, bytes: Uint8Array = Buffer.alloc(0)): Buffer =>
  Buffer.concat([u16(...box), i32(encoding), bytes]);
const update = (...rectangles: Buffer[]): Buffer =>
  Buffer.concat([Buffer.from([0, 0]), u16(rectangles.length), ...rectangles]);
const filled = (pixels: number, byte: number): Buffer => Buffer.alloc(4 * pixels, byte);

async function connected(width: number, height: number): Promise<RfbClient> {
  screen.write(greeting(width, height));
  screen.resume();
  return RfbClient.open(socket);
}

test("a picture is put together of its rectangles, whatever the screen says in between", async () => {
  const client = await connected(4, 2);
  screen.write(Buffer.from([2]));
  screen.write(Buffer.concat([Buffer.from([3, 0, 0, 0]), i32(3), Buffer.from("abc")]));
  // Its size first, as a screen does that can be resized.
  screen.write(
    update(
      rectangle([0, 0, 4, 2], -308, Buffer.concat([Buffer.from([1, 0, 0, 0]), Buffer.alloc(16)])),
    ),
  );
  screen.write(
    update(rectangle([0, 0, 2, 2], 0, filled(4, 1)), rectangle([2, 0, 2, 2], 0, filled(4, 2))),
  );
  const { width, height, pixels } = await client.capture();
  expect([width, height]).toEqual([4, 2]);
  const row = Buffer.concat([filled(2, 1), filled(2, 2)]);
  expect(pixels.equals(Buffer.concat([row, row]))).toBe(true);
});

test("a screen that changes its size meanwhile is taken as it is then", async () => {
  const client = await connected(4, 2);
  screen.write(update(rectangle([0, 0, 4, 2], 0, filled(8, 1)), rectangle([0, 0, 2, 1], -223)));
  screen.write(update(rectangle([0, 0, 2, 1], 0, filled(2, 3))));
  expect(await client.capture()).toEqual({
    width: 2,
    height: 1,
    pixels: filled(2, 3),
  });
});

test.each<[string, Buffer]>([
  ["a rectangle outside of the screen", update(rectangle([3, 0, 2, 2], 0))],
  ["a screen of 65535 pixels a side", update(rectangle([0, 0, 65_535, 65_535], -223))],
  [
    "a size that never stays",
    update(...Array.from({ length: 99 }, (_, at) => rectangle([0, 0, 1 + (at % 2), 9], -223))),
  ],
  ["a screen without a pixel", update(rectangle([0, 0, 0, 0], -223))],
  ["an encoding that nobody asked for", update(rectangle([0, 0, 4, 2], 6, i32(2 ** 31 - 1)))],
  [
    "the same part again and again",
    update(...Array.from({ length: 9 }, () => rectangle([0, 0, 4, 2], 0, filled(8, 1)))),
  ],
  ["a pointer that nobody asked for", update(rectangle([0, 0, 60_000, 60_000], -239))],
  ["a clipboard of 2 GiB", Buffer.concat([Buffer.from([3, 0, 0, 0]), i32(2 ** 31 - 1)])],
  ["a bell that never ends", Buffer.alloc(5_000, 2)],
  ["a message that does not exist", Buffer.from([77])],
  ["updates of nothing", Buffer.concat(Array.from({ length: 9 }, () => update()))],
])("%s ends the connection, and nothing else", async (_name, said) => {
  const client = await connected(4, 2);
  screen.write(said);
  await expect(client.capture()).rejects.toMatchObject({ name: "ScreenFault" });
  expect(client.isClosed).toBe(true);
  // Whoever waits behind it is told as well.
  await expect(client.capture()).rejects.toThrow("the connection has ended");
});

test("a screen that breaks off while a picture comes is told as that", async () => {
  const client = await connected(4, 2);
  screen.write(update(rectangle([0, 0, 4, 2], 0, filled(3, 1))));
  const picture = client.capture();
  screen.end();
  await expect(picture).rejects.toThrow("the connection has ended");
});

test.each([
  ["no screen", Buffer.from("SSH-2.0-open")],
  ["a screen with a password", Buffer.from("RFB 003.008\n\u0001\u0002")],
  ["a screen larger than any", greeting(65_535, 65_535)],
  ["a name of 2 GiB", Buffer.concat([greeting(4, 2).subarray(0, -4), i32(2 ** 31 - 1)])],
])("%s is not connected to", async (_name, said) => {
  screen.write(said);
  screen.resume();
  await expect(RfbClient.open(socket)).rejects.toMatchObject({ name: "ScreenFault" });
  expect(socket.destroyed).toBe(true);
});
