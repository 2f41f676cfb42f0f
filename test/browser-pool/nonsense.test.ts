import { once } from "node:events";
import { PassThrough } from "node:stream";
import { expect, test, vi } from "vitest";
import { CdpMux } from "../../browser-pool/cdp/mux.ts";
import { CdpPipe } from "../../browser-pool/cdp/pipe.ts";
import { AttachedPlaywright } from "../../browser-pool/playwrights/attached-playwright.ts";
import { socketPair } from "./socket-pair.ts";

/** A connection to a Playwright that a test plays, and one customer's socket in it. */
async function attached() {
  const [near, playwright] = await socketPair();
  const browser = new CdpPipe(new PassThrough(), new PassThrough());
  const onNonsense = vi.fn<(nonsense: string) => void>();
  const one = new AttachedPlaywright(near, new CdpMux(browser, () => {}), browser, {
    isUnwatched: () => false,
    hasHand: false,
    onUntaken: () => {},
    onTooLong: () => {},
    onNonsense,
    whyEnded: () => Promise.resolve(null),
  });
  const [customer, client] = await socketPair();
  const onEnd = vi.fn<() => void>();
  const { id } = one.sockets.add(customer, { onTraffic: () => {}, onEnd });
  const ping = one.ping().catch((error: unknown) => error);
  return { one, playwright, client, id, onEnd, onNonsense, ping };
}

const control = (message: object): string => `!${JSON.stringify(message)}\0`;

test.each([
  ["no JSON", "!{{{\0"],
  ["an empty message", "!\0"],
  ["a message of no shape", control({ hello: 1 })],
  ["an event of no kind", control({ client: 1, event: "exploded" })],
  ["an event of a socket that never was", control({ client: 99, event: "active" })],
  ["an event of a socket that cannot be", control({ client: -1, event: "clean" })],
  ["two answers to one question", control({ pong: true }).repeat(2)],
  ["a flood of events", control({ client: 1, event: "active" }).repeat(2_000)],
  ["an answer without an end of sense", control({ failed: "x".repeat(100_000), isUnknown: false })],
])(
  "a Playwright that sends %s loses its connection, and nothing else happens",
  async (_, bytes) => {
    const { one, playwright, client, onEnd, onNonsense } = await attached();
    const heard: Buffer[] = [];
    client.on("data", (chunk: Buffer) => heard.push(chunk));
    playwright.write(bytes);
    await one.ended;
    expect(onNonsense).toHaveBeenCalledOnce();
    expect(onEnd).toHaveBeenCalledOnce();
    await once(client, "end");
    expect(Buffer.concat(heard).length).toBeGreaterThan(0);
  },
);

test("a socket that was taken learns by a close frame what its Playwright did", async () => {
  const { playwright, client, id, ping } = await attached();
  playwright.write(control({ client: id, event: "taken" }));
  playwright.write(control({ pong: true }));
  await ping;
  playwright.write(control({ seeded: true }));
  const [frame] = await once(client, "data");
  expect(Buffer.from(frame).readUInt16BE(2)).toBe(1012);
  expect(String(frame)).toContain("sent what no Playwright sends");
});

test("an event of a socket that has ended here is none of these", async () => {
  const { one, playwright, id, onNonsense, ping } = await attached();
  one.sockets.lost(id);
  playwright.write(control({ client: id, event: "dropped" }) + control({ pong: true }));
  await ping;
  expect(onNonsense).not.toHaveBeenCalled();
});

test("a message without an end is not kept for ever", async () => {
  const { one, playwright } = await attached();
  playwright.on("error", () => {});
  const block = Buffer.alloc(1024 * 1024, "x");
  const write = (): void => {
    while (!playwright.destroyed && playwright.write(block));
  };
  playwright.on("drain", write);
  write();
  await one.ended;
  expect(playwright.bytesWritten).toBeLessThan(300 * block.length);
});
