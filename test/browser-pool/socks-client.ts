import { once } from "node:events";
import { type Socket, connect } from "node:net";

/** The first line that a client hears which asks a forwarder for this target; the number of its reply where it is no target. */
export async function firstLine(path: string, host: string, port: number): Promise<string> {
  const { reply, socket } = await askSocks(path, host, port);
  try {
    if (reply !== 0) return String(reply);
    socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    socket.resume();
    const [chunk]: unknown[] = await once(socket, "data");
    return String(chunk).split("\r\n", 1)[0] ?? "";
  } finally {
    socket.destroy();
  }
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
