import { once } from "node:events";
import { WebSocket } from "ws";
import { type Order, pour, sizeOf } from "./traffic.ts";

const LIMIT_MS = 120_000;
const MIB = 1024 * 1024;

/** A socket of the fake pool that was told what to do. */
export async function open(url: string, order: Order): Promise<WebSocket> {
  const webSocket = new WebSocket(url, { perMessageDeflate: false, handshakeTimeout: 20_000 });
  await once(webSocket, "open");
  webSocket.send(JSON.stringify(order));
  return webSocket;
}

/** Times of messages sent one after the other and echoed, in ms. */
export async function roundTrips(url: string, count: number, bytes: number): Promise<number[]> {
  const webSocket = await open(url, { do: "echo" });
  const message = Buffer.alloc(bytes, "x");
  const times: number[] = [];
  for (let done = 0; done < count; done += 1) {
    const began = performance.now();
    const answered = once(webSocket, "message");
    webSocket.send(message);
    await answered;
    times.push(performance.now() - began);
  }
  webSocket.close();
  return times;
}

/** MiB/s from the client to the upstream. */
export async function uploadRate(url: string, bytes: number, messageBytes: number) {
  const webSocket = await open(url, { do: "sink", bytes });
  const done = once(webSocket, "message", { signal: AbortSignal.timeout(LIMIT_MS) });
  const began = performance.now();
  await pour(webSocket, { bytes, messageBytes });
  await done;
  webSocket.close();
  return rate(bytes, performance.now() - began);
}

/** MiB/s from the upstream to the client. */
export async function downloadRate(url: string, bytes: number, messageBytes: number) {
  const began = performance.now();
  const webSocket = await open(url, { do: "flood", bytes, messageBytes });
  await taken(webSocket, bytes);
  webSocket.close();
  return rate(bytes, performance.now() - began);
}

/** Resolves when that many bytes have come. */
export function taken(webSocket: WebSocket, bytes: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let count = 0;
    const timer = setTimeout(() => reject(new Error(`${count} of ${bytes} bytes`)), LIMIT_MS);
    webSocket.on("close", () => reject(new Error(`closed after ${count} of ${bytes} bytes`)));
    webSocket.on("message", (data) => {
      count += sizeOf(data);
      if (count < bytes) return;
      clearTimeout(timer);
      resolve();
    });
  });
}

function rate(bytes: number, ms: number): number {
  return bytes / MIB / (ms / 1000);
}
