import { once } from "node:events";
import { connect } from "node:net";

/** Sends bytes as they are and answers what came back, up to the end of the first response. */
export async function sendRaw(base: URL, lines: string[], body = ""): Promise<string> {
  const socket = connect(Number(base.port), base.hostname);
  await once(socket, "connect");
  const head = [...lines, `Host: ${base.host}`, "Connection: close", "", ""].join("\r\n");
  socket.write(head + body);
  let answer = "";
  socket.setEncoding("utf8").on("data", (text: string) => (answer += text));
  return new Promise((resolve, reject) => {
    // A server that refuses what it has not read may reset the connection behind its answer.
    socket.on("error", (error) => answer === "" && reject(error));
    socket.on("close", () => resolve(answer));
  });
}

/** Status and body of a raw response. */
export function parseRaw(answer: string): { status: number; head: string; body: string } {
  const [head = "", ...rest] = answer.split("\r\n\r\n");
  return { status: Number(head.split(" ")[1]), head, body: rest.join("\r\n\r\n") };
}
