import type { RawData, WebSocket } from "ws";
import * as z from "zod";

/** What a socket of the fake pool is told by its first message. */
export const Order = z.discriminatedUnion("do", [
  z.object({ do: z.literal("echo") }),
  /** Takes that many bytes, then says `done`. */
  z.object({ do: z.literal("sink"), bytes: z.int() }),
  /** Sends that many bytes as fast as the client takes them. */
  z.object({ do: z.literal("flood"), bytes: z.int(), messageBytes: z.int() }),
]);
export type Order = z.infer<typeof Order>;

/** What may wait in this process for a slow client. */
const HIGH_BYTES = 1024 * 1024;

let flooded = 0;

/** How far the last flood has got, in bytes that left this process. */
export const progress = (): { flooded: number } => ({ flooded });

export function serve(webSocket: WebSocket): void {
  webSocket.on("error", () => webSocket.terminate());
  webSocket.once("message", (data) => obey(webSocket, Order.parse(JSON.parse(textOf(data)))));
}

function obey(webSocket: WebSocket, order: Order): void {
  switch (order.do) {
    case "echo":
      webSocket.on("message", (data, binary) => webSocket.send(data, { binary }));
      return;
    case "sink":
      return sink(webSocket, order.bytes);
    case "flood":
      void flood(webSocket, order);
      return;
  }
}

function sink(webSocket: WebSocket, bytes: number): void {
  let taken = 0;
  webSocket.on("message", (data) => {
    taken += sizeOf(data);
    if (taken >= bytes) webSocket.send("done");
  });
}

async function flood(webSocket: WebSocket, order: { bytes: number; messageBytes: number }) {
  flooded = 0;
  await pour(webSocket, order, (sent) => (flooded = sent)).catch(() => undefined);
}

/** Sends bytes in messages, no faster than the other end takes them. */
export async function pour(
  webSocket: WebSocket,
  { bytes, messageBytes }: { bytes: number; messageBytes: number },
  onSent: (sent: number) => void = () => undefined,
): Promise<void> {
  const message = Buffer.alloc(messageBytes, "x");
  for (let sent = 0; sent < bytes; sent += messageBytes) {
    const written = new Promise<void>((resolve, reject) =>
      webSocket.send(message, (error) => {
        if (error) reject(error);
        else resolve();
      }),
    );
    if (webSocket.bufferedAmount > HIGH_BYTES) await written;
    else written.catch(() => undefined);
    onSent(sent);
  }
}

export function sizeOf(data: RawData): number {
  return Buffer.isBuffer(data) ? data.length : 0;
}

function textOf(data: RawData): string {
  return Buffer.isBuffer(data) ? data.toString() : "";
}
