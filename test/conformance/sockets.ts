import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect as connectTcp } from "node:net";
import { text } from "node:stream/consumers";
import { connect as connectTls } from "node:tls";
import { WebSocket } from "ws";
import { firstResponse, parseRaw } from "../support/process/raw-http.ts";
import { noteStatus } from "./coverage.ts";

/** How a handshake went. `socket` is open after a 101 and null otherwise. */
export interface Handshake {
  status: number;
  type: string;
  text: string;
  socket: WebSocket | null;
}

/** Asks for an upgrade. */
export function upgrade(url: URL | string, headers: Record<string, string> = {}) {
  const target = new URL(url);
  target.protocol = target.protocol.replace(/^http/, "ws");
  const socket = new WebSocket(target, { headers });
  return new Promise<Handshake>((resolve, reject) => {
    const done = (handshake: Handshake) => {
      noteStatus("GET", target.pathname, handshake.status);
      resolve(handshake);
    };
    socket.on("error", reject);
    socket.once("open", () => done({ status: 101, type: "", text: "", socket }));
    socket.once("unexpected-response", (_request, response: IncomingMessage) => {
      const { statusCode: status = 0, headers: of } = response;
      void text(response).then((body) =>
        done({ status, type: of["content-type"] ?? "", text: body, socket: null }),
      );
    });
  });
}

/** The open socket of an upgrade that must succeed. */
export async function open(url: URL | string): Promise<WebSocket> {
  const { socket, status, text: body } = await upgrade(url);
  if (!socket) throw new Error(`the upgrade was refused: ${status} ${body}`);
  return socket;
}

/** Code and reason of a socket's end. */
export async function closeOf(socket: WebSocket): Promise<{ code: number; reason: string }> {
  const [code, reason] = await once(socket, "close");
  return { code: Number(code), reason: String(reason) };
}

let calls = 0;

/** Sends one DevTools call and answers its result. */
export async function cdp(socket: WebSocket, method: string, params = {}): Promise<unknown> {
  const id = (calls += 1);
  const answer = new Promise((resolve, reject) => {
    // Listens until it has its own: several messages may come at once.
    const hear = (data: WebSocket.RawData): void => {
      const message: { id?: number; result?: unknown } = JSON.parse(String(data as Buffer));
      if (message.id !== id) return;
      socket.off("message", hear);
      resolve(message.result);
    };
    socket.on("message", hear);
    socket.once("close", () => reject(new Error(`${method}: the socket closed`)));
  });
  socket.send(JSON.stringify({ id, method, params }));
  return answer;
}

/** Sends head lines as they are and answers the status and the body of what came back. */
export async function sendRaw(base: URL, request: string, lines: string[] = []) {
  const isTls = base.protocol === "https:";
  const port = Number(base.port || (isTls ? 443 : 80));
  const host = base.hostname;
  const socket = isTls ? connectTls({ port, host, servername: host }) : connectTcp(port, host);
  await once(socket, isTls ? "secureConnect" : "connect");
  const head = [`${request} HTTP/1.1`, `Host: ${base.host}`, "Connection: close", ...lines];
  socket.write(`${head.join("\r\n")}\r\n\r\n`);
  const { status, body } = parseRaw(await firstResponse(socket));
  const [method = "", path = ""] = request.split(" ");
  noteStatus(method, new URL(path, base).pathname, status, body);
  return { status, body };
}
