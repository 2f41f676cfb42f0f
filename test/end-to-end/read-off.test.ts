import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseRaw } from "../support/process/raw-http.ts";
import { VmGateway } from "../support/process/vm-gateway.ts";

const MB = 1024 * 1024;
const PART = Buffer.alloc(MB);

let it: VmGateway;
beforeAll(async () => void (it = await VmGateway.start()));
afterAll(() => it?.close());

/** Sends the whole of a body before it reads a byte of the answer, as many clients do. */
async function sendAll(lines: string[], bytes: number, isChunked: boolean): Promise<string> {
  const { port, hostname } = it.gateway.url;
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  socket.pause();
  const length = isChunked ? "Transfer-Encoding: chunked" : `Content-Length: ${bytes}`;
  await write(socket, [...lines, length, "Connection: close", "", ""].join("\r\n"));
  const part = isChunked
    ? Buffer.concat([Buffer.from(`${PART.length.toString(16)}\r\n`), PART, Buffer.from("\r\n")])
    : PART;
  for (let sent = 0; sent < bytes; sent += PART.length) await write(socket, part);
  if (isChunked) await write(socket, "0\r\n\r\n");
  let answer = "";
  socket.setEncoding("utf8").on("data", (text: string) => (answer += text));
  socket.resume();
  await once(socket, "close");
  return answer;
}

const write = (socket: Socket, bytes: Buffer | string): Promise<void> =>
  new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.write(bytes, (error) => void (error ?? socket.off("error", reject), error || resolve()));
  });

const target = ({ pathname, search, host }: URL): string[] => [
  `PUT ${pathname}${search} HTTP/1.1`,
  `Host: ${host}`,
];

async function upload(files: "full" | "ok"): Promise<string[]> {
  it.host.mode = { ...it.host.mode, files };
  return target(await it.fileUrl("upload", "/some"));
}
const withKey = (line: string): string[] => [
  `${line} HTTP/1.1`,
  `Host: ${it.gateway.url.host}`,
  `Authorization: Bearer ${it.key}`,
];

test.each([
  ["an upload that the guest refuses at once", 400, 20, () => upload("full")],
  ["an upload above the cap", 413, 40, () => upload("ok")],
  ["a create far above the cap", 413, 20, () => withKey("POST /sandboxes")],
  ["an upload with a wrong token", 403, 20, () => withKey("PUT /files/upload?token=x")],
  ["a request without a key", 401, 20, () => target(new URL("/sandboxes", it.gateway.url))],
  ["a request for nothing", 404, 20, () => withKey("POST /nothing")],
] as const)("%s is answered %i, though its sender reads last", async (_name, status, mb, lines) => {
  for (const isChunked of [false, true]) {
    const answer = parseRaw(await sendAll(await lines(), mb * MB, isChunked));
    expect([isChunked, answer.status]).toEqual([isChunked, status]);
  }
});
