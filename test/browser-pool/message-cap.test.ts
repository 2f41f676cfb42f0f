import { once } from "node:events";
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { missingBrowser } from "../support/process/needs.ts";
import { byWire, firstPage } from "./clients.ts";
import { RawWire } from "./raw-wire.ts";
import { Rig } from "./rig.ts";

const TOO_LONG = { code: CLOSE_CODES.messageTooLarge, reason: "A message is longer than 96 MiB." };
const BODY_BYTES = 80 * 1024 * 1024;
/** What a message has around its text. */
const AROUND = 4_096;

describe.skipIf(await missingBrowser())("a message on /ws", () => {
  let rig: Rig;
  let wire: RawWire;
  let ended: Promise<{ code: number; reason: string }>;

  let site: Server;
  let url = "";

  beforeAll(async () => {
    const body = Buffer.alloc(BODY_BYTES);
    site = createServer((_request, response) => response.end(body)).listen(0, "127.0.0.1");
    await once(site, "listening");
    url = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
    rig = await Rig.start({ env: { SVC_EGRESS_ALLOW: new URL(url).host } });
    await rig.place("s");
  });
  afterAll(async () => {
    await rig.stop();
    site.close();
  });
  beforeEach(async () => {
    wire = await RawWire.open(rig, "s", "1.65");
    ended = new Promise((resolve) => {
      wire.socket.once("close", (code, reason) => resolve({ code, reason: String(reason) }));
    });
  });

  const send = (bytes: number): void =>
    void wire.send(wire.guidOf("Frame") ?? "", "nothing", { text: "x".repeat(bytes) });
  test("of a client that is too long closes its socket, and no other one", async () => {
    const other = await byWire(rig, "s");
    send(LIMITS.wireMessageBytes + 1);
    expect(await ended).toEqual(TOO_LONG);
    expect(await firstPage(other).evaluate("1 + 1")).toBe(2);
    await other.close();
  });

  test("to a client that is too long closes its socket, and no other one", async () => {
    const other = await byWire(rig, "s");
    const request = wire.guidOf("APIRequestContext") ?? "";
    const fetched = await wire.call(request, "fetch", { url, timeout: 30_000 });
    const fetchUid = /"fetchUid":"([^"]+)"/.exec(fetched)?.[1];
    // In base64 the body is longer than a message may be.
    void wire.send(request, "fetchResponseBody", { fetchUid });
    expect(await ended).toEqual(TOO_LONG);
    expect(await firstPage(other).evaluate("1 + 1")).toBe(2);
    await other.close();
  });

  test("for which the browser's answer is too long is answered by an error, and closes nothing", async () => {
    const client = await byWire(rig, "s");
    const ask = firstPage(client).evaluate(`"x".repeat(${LIMITS.wireMessageBytes + 1})`);
    await expect(ask).rejects.toThrow("The browser's answer is longer than 96 MiB.");
    expect(await firstPage(client).evaluate("1 + 1")).toBe(2);
    await client.close();
    wire.socket.close();
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
