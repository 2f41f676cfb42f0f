import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { type Socket, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { controlText } from "../../browser-pool/playwrights/messages.ts";
import { watchPulse } from "../../browser-pool/playwrights/pulse.ts";

/** Two ends of a connection. */
async function pair(): Promise<[Socket, Socket]> {
  const folder = await mkdtemp(join(tmpdir(), "pulse-"));
  const server = createServer().listen(join(folder, "s"));
  await once(server, "listening");
  const near = connect(join(folder, "s"));
  const [far] = await once(server, "connection");
  onTestFinished(async () => {
    for (const socket of [near, far]) socket.destroy();
    server.close();
    await rm(folder, { recursive: true });
  });
  return [near, far];
}

test("a Playwright that stops answering is given up, once", async () => {
  const [near, far] = await pair();
  let pings = 0;
  let silences = 0;
  far.on("data", () => {
    pings += 1;
    if (pings <= 10) far.write(`${controlText({ pong: true })}\0`);
  });
  watchPulse(near, () => (silences += 1), 5);
  await once(near, "close");
  expect(pings).toBeGreaterThan(10);
  await expect.poll(() => silences).toBe(1);
});

test("one that ends by itself is not", async () => {
  const [near, far] = await pair();
  let silences = 0;
  watchPulse(near, () => (silences += 1), 5);
  far.destroy();
  await once(near, "close");
  expect(silences).toBe(0);
});
