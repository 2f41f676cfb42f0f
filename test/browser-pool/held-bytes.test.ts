import { PassThrough } from "node:stream";
import { LIMITS } from "@svc/contract/limits.ts";
import { STALL_MS } from "@svc/host-kit/backlog.ts";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Inflow } from "../../browser-pool/cdp/inflow.ts";
import { Outflow } from "../../browser-pool/cdp/outflow.ts";
import { CdpPipe } from "../../browser-pool/cdp/pipe.ts";

const MIB = 1024 * 1024;
const MOST = LIMITS.sessionHeldBytes;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("bytes on their way to a browser", () => {
  const sender = (gatheredBytes: number) => ({
    gatheredBytes,
    isHeld: false,
    hold() {
      this.isHeld = true;
    },
    release() {
      this.isHeld = false;
    },
    cut: vi.fn<() => void>(),
  });

  function inflow(...gathered: number[]) {
    const output = new PassThrough({ highWaterMark: 1 });
    const pipe = new CdpPipe(output, new PassThrough());
    pipe.read({ piece: () => {}, end: () => {} }, () => {});
    const flow = new Inflow(pipe);
    const senders = gathered.map(sender);
    for (const one of senders) flow.add(one);
    return { flow, pipe, output, senders };
  }

  test("hold nobody up while they are few", () => {
    const { flow, senders } = inflow(MOST / 2, MOST / 2);
    flow.check();
    expect(senders.map(({ isHeld }) => isHeld)).toEqual([false, false]);
  });

  test("let the client go on alone whose call is nearest to its end, and then the others", () => {
    const { flow, senders } = inflow(MOST / 2, MOST / 2 + 1);
    flow.check();
    expect(senders.map(({ isHeld }) => isHeld)).toEqual([true, false]);
    const [, longest] = senders;
    if (longest) longest.gatheredBytes = 0;
    flow.check();
    expect(senders.map(({ isHeld }) => isHeld)).toEqual([false, false]);
  });

  test("hold everybody up while the browser takes nothing", async () => {
    const { flow, pipe, output, senders } = inflow(0, 0);
    pipe.write(Buffer.alloc(MOST + MIB));
    flow.check();
    expect(senders.map(({ isHeld }) => isHeld)).toEqual([true, true]);
    output.resume();
    await vi.waitFor(
      () => expect(senders.map(({ isHeld }) => isHeld)).toEqual([false, false]),
      60_000,
    );
  });

  test("cut the client that stops in the middle of its call", async () => {
    const { flow, senders } = inflow(1, MOST);
    const [other, longest] = senders;
    flow.check();
    await vi.advanceTimersByTimeAsync(STALL_MS + 2_000);
    expect(longest?.cut).toHaveBeenCalled();
    expect(other?.cut).not.toHaveBeenCalled();
    if (longest) flow.remove(longest);
    expect(other?.isHeld).toBe(false);
  });
});

describe("bytes that wait for clients", () => {
  const reader = (waitingBytes: number) => ({
    waitingBytes,
    sentBytes: 0,
    cut: vi.fn<() => void>(),
  });

  function outflow(...waiting: number[]) {
    const source = { hold: vi.fn<() => void>(), release: vi.fn<() => void>() };
    const flow = new Outflow(source);
    const readers = waiting.map(reader);
    for (const one of readers) flow.add(one);
    return { flow, source, readers };
  }

  test("stop the browser when they are too many together, until half of them are taken", () => {
    const { flow, source, readers } = outflow(MOST / 2, MOST / 2 + 1);
    flow.check();
    expect(source.hold).toHaveBeenCalledOnce();
    for (const one of readers) one.waitingBytes = MOST / 4 + 1;
    flow.check();
    expect(source.release).not.toHaveBeenCalled();
    for (const one of readers) one.waitingBytes = MOST / 4;
    flow.check();
    expect(source.release).toHaveBeenCalledOnce();
  });

  test("cut the client that takes nothing, and not the one that is slow", async () => {
    const { flow, readers } = outflow(MOST, MOST);
    const [slow, stalled] = readers;
    flow.check();
    for (let second = 0; second < STALL_MS / 1_000 + 2; second += 1) {
      if (slow) slow.sentBytes += 1;
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(stalled?.cut).toHaveBeenCalled();
    expect(slow?.cut).not.toHaveBeenCalled();
  });
});
