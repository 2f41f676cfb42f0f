import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** Sends bytes as they are and answers the first response. The Host is the gateway's unless a line says another. */
export async function sendRaw(base: URL, lines: string[], body = ""): Promise<string> {
  const socket = await rawSocket(base);
  const host = lines.some((line) => /^host:/i.test(line)) ? [] : [`Host: ${base.host}`];
  const head = [...lines, ...host, "Connection: close", "", ""].join("\r\n");
  socket.write(head + body);
  return firstResponse(socket);
}

/** A connection on which nothing was sent yet. */
export async function rawSocket(base: URL): Promise<Socket> {
  const socket = connect(Number(base.port), base.hostname);
  await once(socket, "connect");
  return socket;
}

/** The first response, to the length that its head tells or to the end: a server that waits for a body keeps the connection open. */
export async function firstResponse(socket: Socket): Promise<string> {
  // A character for a byte, as lengths count.
  let answer = "";
  try {
    for await (const part of socket.setEncoding("latin1")) {
      answer += String(part);
      if (isWhole(answer)) break;
    }
  } catch (error) {
    // A server that refuses what it has not read may reset the connection behind its answer.
    if (answer === "") throw error;
  }
  socket.destroy();
  return Buffer.from(answer, "latin1").toString();
}

function isWhole(answer: string): boolean {
  const { head, body } = parseRaw(answer);
  const [, length] = /^content-length: *(\d+)/im.exec(head) ?? [];
  return length !== undefined && answer.includes("\r\n\r\n") && body.length >= Number(length);
}

/** Status and body of a raw response. */
export function parseRaw(answer: string): { status: number; head: string; body: string } {
  const [head = "", ...rest] = answer.split("\r\n\r\n");
  return { status: Number(head.split(" ")[1]), head, body: rest.join("\r\n\r\n") };
}
