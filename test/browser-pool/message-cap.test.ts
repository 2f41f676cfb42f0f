import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { missingBrowser } from "../support/process/needs.ts";
import { byWire, firstPage } from "./clients.ts";
import { RawWire } from "./raw-wire.ts";
import { Rig } from "./rig.ts";

const TOO_LONG = { code: CLOSE_CODES.messageTooLarge, reason: "A message is longer than 96 MiB." };
/** What a message has around its text. */
const AROUND = 4_096;

describe.skipIf(await missingBrowser())("a message on /ws", () => {
  let rig: Rig;
  let wire: RawWire;
  let ended: Promise<{ code: number; reason: string }>;

  beforeAll(async () => {
    rig = await Rig.start();
    await rig.place("s");
  });
  afterAll(() => rig.stop());
  beforeEach(async () => {
    wire = await RawWire.open(rig, "s", "1.65");
    ended = new Promise((resolve) => {
      wire.socket.once("close", (code, reason) => resolve({ code, reason: String(reason) }));
    });
  });

  const send = (bytes: number): void =>
    void wire.send(wire.guidOf("Frame") ?? "", "nothing", { text: "x".repeat(bytes) });
  const ask = (bytes: number): void =>
    void wire.send(wire.guidOf("Frame") ?? "", "evaluateExpression", {
      expression: `"x".repeat(${bytes})`,
      isFunction: false,
      arg: { value: { v: "undefined" }, handles: [] },
    });

  test.each([
    ["of a client", send],
    ["to a client", ask],
  ])("%s that is too long closes its socket, and no other one", async (_, exceed) => {
    const other = await byWire(rig, "s");
    exceed(LIMITS.wireMessageBytes + 1);
    expect(await ended).toEqual(TOO_LONG);
    expect(await firstPage(other).evaluate("1 + 1")).toBe(2);
    await other.close();
  });

  test("of a client in many frames counts as a whole", async () => {
    const part = Buffer.alloc(LIMITS.wireMessageBytes / 4, "x");
    for (let sent = 0; sent < 4; sent += 1) wire.socket.send(part, { binary: false, fin: false });
    wire.socket.send("x", { binary: false, fin: true });
    expect(await ended).toEqual(TOO_LONG);
  });

  test("that is as long as may be is taken and brought", async () => {
    const page = firstPage(await byWire(rig, "s"));
    const length = LIMITS.wireMessageBytes - AROUND;
    expect(await page.evaluate((text) => text.length, "x".repeat(length))).toBe(length);
    expect(await page.evaluate((count) => "x".repeat(count), length)).toHaveLength(length);
    wire.socket.close();
  });
});
