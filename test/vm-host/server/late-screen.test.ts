import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { type Duplex, duplexPair } from "node:stream";
import { LIMITS } from "@svc/contract/limits.ts";
import { afterEach, expect, test, vi } from "vitest";
import { Places } from "../../../vm-host/machines/places.ts";
import { type WatchedVm, openStream } from "../../../vm-host/server/stream.ts";

afterEach(() => {
  vi.useRealTimers();
});

test("a viewer of a screen that is not reached is told before the gateway gives up, and the late one is let go", async () => {
  vi.useFakeTimers();
  const dialled = Promise.withResolvers<Duplex>();
  const vm = {
    screen: {},
    viewers: new Places(1),
    begin: () => () => {},
    guest: { dial: () => dialled.promise },
  } as unknown as WatchedVm;
  const [socket, viewer] = duplexPair();
  const heard: Buffer[] = [];
  viewer.on("data", (chunk: Buffer) => heard.push(chunk));
  const asked = { url: "/vms/one/stream" } as IncomingMessage;
  const opening = openStream(vm, asked, socket as Socket, Buffer.alloc(0));
  await vi.advanceTimersByTimeAsync(LIMITS.slotUpgradeMs);
  await opening;
  vi.useRealTimers();
  await expect
    .poll(() => String(Buffer.concat(heard)))
    .toMatch(/^HTTP\/1\.1 502 [^]*does not answer/);
  const [late] = duplexPair();
  dialled.resolve(late);
  await expect.poll(() => late.destroyed).toBe(true);
});

test("the host's refusal comes before the gateway's own", () => {
  expect(LIMITS.slotUpgradeMs).toBeLessThan(LIMITS.poolUpgradeMs);
});
