import type { PoolHeartbeat } from "@svc/contract/host-protocol/heartbeat.ts";
import { Heartbeats, retryMs } from "@svc/host-kit/heartbeats.ts";
import { createLog } from "@svc/host-kit/log.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Gateway } from "../browser-pool/gateway.ts";
import { HOST_TOKEN } from "../support/secrets.ts";

let gateway: Gateway;
let heartbeats: Heartbeats<PoolHeartbeat>;
let ended: string[];
let seq: number;
let idle: number;

const snapshot = (): PoolHeartbeat => {
  seq += 1;
  return {
    type: "pool",
    bootId: "boot-id-1",
    seq,
    url: "http://127.0.0.1:1",
    versions: { chromium: "1", wire: [] },
    isolation: "none",
    memoryCap: false,
    egressAllow: [],
    kinds: { fast: { idle, busy: 0, recycling: 0 } },
    slots: [],
  };
};

beforeEach(async () => {
  gateway = new Gateway();
  ended = [];
  seq = 0;
  idle = 0;
  heartbeats = new Heartbeats({
    gatewayUrl: await gateway.start(),
    hostId: "host-1",
    hostToken: HOST_TOKEN,
    log: createLog("test", "silent"),
    quietMs: 50,
    call: fetch,
    nextBeat: snapshot,
    onAnswer: (reply) => void ended.push(...reply.end),
  });
});

afterEach(async () => {
  await heartbeats.stop();
  await gateway.stop();
});

test("changes during a heartbeat make exactly one more, never two at once", async () => {
  let answer = (): void => {};
  gateway.hold = new Promise((resolve) => (answer = resolve));
  heartbeats.start();
  await gateway.beat((beat) => beat.seq === 1);
  for (idle = 1; idle < 50; idle += 1) heartbeats.touch();
  gateway.hold = null;
  answer();
  await gateway.beat((beat) => beat.kinds.fast?.idle === 50);
  heartbeats.touch();
  const last = await gateway.beat((beat) => beat.seq > 2);
  expect(last.seq).toBe(3);
  expect(gateway.mostAtOnce).toBe(1);
});

test("many changes in one go are one heartbeat", async () => {
  heartbeats.start();
  await gateway.beat((beat) => beat.seq === 1);
  for (idle = 1; idle < 50; idle += 1) heartbeats.touch();
  const next = await gateway.beat((beat) => beat.seq > 1);
  expect(next).toMatchObject({ seq: 2, kinds: { fast: { idle: 50 } } });
});

test("what the gateway wants ended is handed over", async () => {
  gateway.end = ["a", "b"];
  heartbeats.start();
  await gateway.beat((beat) => beat.seq === 1);
  heartbeats.touch();
  await gateway.beat((beat) => beat.seq === 2);
  expect(ended).toEqual(["a", "b"]);
});

test("a gateway that fails is tried again until it answers", async () => {
  gateway.status = 503;
  heartbeats.start();
  const before = heartbeats.answeredAt;
  await gateway.beat((beat) => beat.seq === 4);
  expect(heartbeats.answeredAt).toBe(before);
  gateway.status = 200;
  await gateway.beat((beat) => beat.seq === 5);
  heartbeats.touch();
  await gateway.beat((beat) => beat.seq >= 6);
  expect(heartbeats.answeredAt).toBeGreaterThan(before);
});

test("retries grow to two seconds at most and differ", () => {
  expect(retryMs(1, 1)).toBe(200);
  expect(retryMs(4, 1)).toBe(1600);
  expect(retryMs(30, 1)).toBe(2000);
  expect(retryMs(30, 0)).toBe(1000);
});
