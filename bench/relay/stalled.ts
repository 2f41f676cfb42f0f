import { setTimeout as pause } from "node:timers/promises";
import * as z from "zod";
import { residentMib } from "../machine/memory.ts";
import { open, taken } from "./client.ts";

const POLL_MS = 100;
const STALLED_MS = 5_000;
const LIMIT_MS = 60_000;
const MESSAGE_BYTES = 64 * 1024;
const FLOOD_BYTES = 1024 ** 3;
const MIB = 1024 * 1024;

const Progress = z.object({ flooded: z.int() });

/** What happened while a client stopped reading, and when it read again. */
export interface Stalled {
  growthMib: number;
  /** What the upstream could send although nobody read. */
  sentMib: number;
  /** How long the whole GiB took once the client read again. */
  resumedMs: number;
}

/** A client asks for 1 GiB and reads nothing until the upstream stands still; then it reads all of it. */
export async function measureStalled(
  url: string,
  upstreamUrl: string,
  workerd: number,
): Promise<Stalled> {
  const before = residentMib(workerd);
  const webSocket = await open(url, {
    do: "flood",
    bytes: FLOOD_BYTES,
    messageBytes: MESSAGE_BYTES,
  });
  webSocket.pause();
  const { peakMib, sentBytes } = await watch(upstreamUrl, workerd);
  const began = performance.now();
  const all = taken(webSocket, FLOOD_BYTES);
  webSocket.resume();
  await all;
  const resumedMs = performance.now() - began;
  webSocket.close();
  return { growthMib: peakMib - before, sentMib: sentBytes / MIB, resumedMs };
}

async function watch(upstreamUrl: string, workerd: number) {
  const began = performance.now();
  let movedAt = began;
  let sentBytes = 0;
  let peakMib = 0;
  while (performance.now() - movedAt < STALLED_MS && performance.now() - began < LIMIT_MS) {
    const response = await fetch(new URL("/progress", upstreamUrl));
    const { flooded } = Progress.parse(await response.json());
    if (flooded !== sentBytes) movedAt = performance.now();
    sentBytes = flooded;
    peakMib = Math.max(peakMib, residentMib(workerd));
    await pause(POLL_MS);
  }
  return { peakMib, sentBytes };
}
