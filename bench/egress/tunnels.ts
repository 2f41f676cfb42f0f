import { once } from "node:events";
import { type Socket, connect } from "node:net";
import { HOME } from "./facts.ts";

const REPLY_BYTES = 12;

/** A connection to a port of the site, by a forwarder on this unix socket. */
export async function opened(port: number, path: string): Promise<Socket> {
  const socket = connect(path);
  await once(socket, "connect");
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
