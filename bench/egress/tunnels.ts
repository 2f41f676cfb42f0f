import { once } from "node:events";
import { type Socket, connect } from "node:net";
import { BULK_BYTES, HOME } from "./facts.ts";

const REPLY_BYTES = 12;

/** A connection to a port of the site: straight, or by a forwarder on this unix socket. */
export async function opened(port: number, path: string | null): Promise<Socket> {
  const socket = path === null ? connect(port, HOME) : connect(path);
  await once(socket, "connect");
  if (path === null) return socket;
  const name = Buffer.from(HOME);
  socket.write(Buffer.from([5, 1, 0, 5, 1, 0, 3, name.length, ...name, port >> 8, port & 255]));
  let heard = Buffer.alloc(0);
  while (heard.length < REPLY_BYTES) {
    const bytes: unknown = socket.read();
    if (Buffer.isBuffer(bytes)) heard = Buffer.concat([heard, bytes]);
    else if (socket.destroyed) throw new Error("the forwarder has closed the connection");
    else await once(socket, "readable");
  }
  if (heard[3] !== 0) throw new Error(`the forwarder answers ${heard[3]}`);
  return socket;
}

/** MiB a second of one response of `BULK_BYTES`. */
export async function bulkBy(port: number, path: string | null): Promise<number> {
  const socket = await opened(port, path);
  const began = performance.now();
  socket.write("GET /bulk HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
  let bytes = 0;
  for await (const chunk of socket) bytes += (chunk as Buffer).length;
  if (bytes < BULK_BYTES) throw new Error(`only ${bytes} bytes have come`);
  return BULK_BYTES / 1024 ** 2 / ((performance.now() - began) / 1_000);
}
