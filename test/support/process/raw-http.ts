import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** Sends bytes as they are and answers the first response. */
export async function sendRaw(base: URL, lines: string[], body = ""): Promise<string> {
  const socket = connect(Number(base.port), base.hostname);
  await once(socket, "connect");
  const head = [...lines, `Host: ${base.host}`, "Connection: close", "", ""].join("\r\n");
  socket.write(head + body);
  return firstResponse(socket);
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
