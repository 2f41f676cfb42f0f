import { once } from "node:events";
import { expect, test } from "vitest";
import { controlText } from "../../browser-pool/playwrights/messages.ts";
import { watchPulse } from "../../browser-pool/playwrights/pulse.ts";
import { socketPair } from "./socket-pair.ts";

test("a Playwright that stops answering is given up, once", async () => {
  const [near, far] = await socketPair();
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
  const [near, far] = await socketPair();
  let silences = 0;
  watchPulse(near, () => (silences += 1), 5);
  far.destroy();
  await once(near, "close");
  expect(silences).toBe(0);
});
