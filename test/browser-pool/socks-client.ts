import { type Socket, connect } from "node:net";

/** What a forwarder replies to a client that asks for this target: 0 where it is reached (RFC 1928, section 6). */
export async function socksReply(path: string, host: string, port: number): Promise<number> {
  const { reply, socket } = await askSocks(path, host, port);
  socket.destroy();
  return reply;
}

/** The same, with the socket that leads to the target from then on. */
export function askSocks(
  path: string,
  host: string,
  port: number,
): Promise<{ reply: number; socket: Socket }> {
  const socket = connect(path);
  const name = Buffer.from(host);
  const target = [5, 1, 0, 3, name.length, ...name, port >> 8, port & 255];
  socket.write(Buffer.from([5, 1, 0, ...target]));
  return new Promise((resolve, reject) => {
    let heard = Buffer.alloc(0);
    socket.on("error", reject);
    socket.once("close", () => reject(new Error("the forwarder gave no reply")));
    socket.on("data", function listen(chunk: Buffer) {
      heard = Buffer.concat([heard, chunk]);
      if (heard.length < 12) return;
      socket.off("data", listen).pause();
      if (heard.length > 12) socket.unshift(heard.subarray(12));
      resolve({ reply: heard[3] ?? 255, socket });
    });
  });
}
