import { once } from "node:events";
import { createServer } from "node:net";
import { expect, test, vi } from "vitest";
import { awaitGateway } from "@svc/host-kit/await-gateway.ts";
import { START_TIMES } from "@svc/host-kit/start-times.ts";
import { chosenPort } from "../../scripts/start/port.ts";

async function freePort(): Promise<number> {
  process.env["SVC_PORT"] = "0";
  return chosenPort();
}

test("a host that is started first waits until its gateway listens", async () => {
  const port = await freePort();
  let isThere = false;
  const waited = awaitGateway(`http://127.0.0.1:${port}`).then(() => isThere);
  const gateway = createServer().listen(port, "127.0.0.1");
  gateway.once("listening", () => (isThere = true));
  expect(await waited).toBe(true);
  gateway.close();
});

test("a host waits for its gateway as long as its supervisor does", async () => {
  const port = await freePort();
  let now = 0;
  using looks = vi.spyOn(performance, "now").mockImplementation(() => now);
  let isThere = false;
  const waited = awaitGateway(`http://127.0.0.1:${port}`).then(() => isThere);
  now = START_TIMES.gatewayMs - 1;
  const before = looks.mock.calls.length;
  await expect.poll(() => looks.mock.calls.length).toBeGreaterThan(before + 1);
  const gateway = createServer().listen(port, "127.0.0.1");
  gateway.once("listening", () => (isThere = true));
  expect(await waited).toBe(true);
  gateway.close();
});

test("a gateway that stays away does not keep a host from starting", async () => {
  const port = await freePort();
  await expect(awaitGateway(`http://127.0.0.1:${port}`, 100)).resolves.toBeUndefined();
});

test("a port that was chosen freely can be listened on at once, and is given to nobody else", async () => {
  const port = await freePort();
  const others = Array.from({ length: 50 }, () => createServer().listen(0, "127.0.0.1"));
  await Promise.all(others.map((other) => once(other, "listening")));
  const given = others.map((other) => {
    const address = other.address();
    return typeof address === "object" ? address?.port : null;
  });
  expect(given).not.toContain(port);
  for (const other of others) other.close();
  const gateway = createServer().listen(port, "127.0.0.1");
  await once(gateway, "listening");
  gateway.close();
});
