import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { refuse } from "@svc/contract/control-channel/refusals.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { type WebSocket, WebSocketServer } from "ws";
import * as z from "zod";
import { Places } from "../../../vm-host/machines/places.ts";
import { forwardRequest, forwardUpgrade, type PortVm } from "../../../vm-host/server/ports.ts";
import { serving } from "./serving.ts";

/** Headers of an upgrade's answer that reach further than the host name of a preview. */
const FAR_REACHING = [
  "Set-Cookie: a=1; Domain=preview.test",
  'Clear-Site-Data: "*"',
  "X-Svc-Answer: host",
  "X-Inside: 1",
];
/** The ports of a guest that a server listens on. */
export const OPEN_PORTS = [3000, 8000];

const TEXT = "hello ".repeat(2000);

/** How a host answers for the ports of a machine. */
export const PortMode = z.enum(["ok", "missing", "fault", "busy", "drop", "paused"]).default("ok");
type PortMode = z.infer<typeof PortMode>;

interface PortCall {
  vms: Set<string>;
  id: string;
  request: IncomingMessage;
  response: ServerResponse;
}

/** The ports of a guest: the host's own code in front of a real HTTP server that says what it was asked. */
export class FakeGuest {
  readonly #server: Server;
  readonly #sockets = new WebSocketServer({ noServer: true });
  readonly #vm: PortVm = {
    touch: () => undefined,
    previewSockets: new Set(),
    ending: async () => null,
    begin: () => () => undefined,
    guest: { dial: (port) => this.#dial(port) },
    previews: new Places(LIMITS.machinePreviews),
  };

  /** What came on the connections of upgrades that it refused, after its refusal. */
  readonly overheard: string[] = [];
  /** Takes control sockets, in place of the echo. */
  onControl: ((client: WebSocket) => void) | null = null;
  #onNext: ((socket: WebSocket) => void) | null = null;
  /** Since the first dial: others may come before it listens. */
  #listening: Promise<unknown> | null = null;
  /** An answer of events that waits for its client to come back. */
  #goOn: (() => void) | null = null;

  constructor() {
    this.#server = createServer(
      serving((request, response) =>
        request.url?.startsWith("/events") ? this.#events(response) : answer(request, response),
      ),
    );
    this.#sockets.on("headers", (headers, { url }) => {
      if (url?.startsWith("/far")) headers.push(...FAR_REACHING);
    });
    this.#server.on("upgrade", (request, socket, head) => {
      socket.on("error", () => socket.destroy());
      // As many servers do it leaves the connection open: it listens to what comes next on it.
      if (request.url?.startsWith("/refuse")) {
        socket.on("data", (bytes: Buffer) => this.overheard.push(String(bytes)));
        return void socket.write("HTTP/1.1 403 Forbidden\r\nContent-Length: 7\r\n\r\nnot you");
      }
      this.control(request, socket, head);
    });
  }

  close(): void {
    for (const socket of this.#sockets.clients) socket.terminate();
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async answer(call: PortCall, mode: PortMode): Promise<void> {
    const { request, response, id } = call;
    if (mode === "drop") return void response.destroy();
    if (mode === "fault") return void response.writeHead(500).end("a bug");
    if (mode === "paused") return void response.writeHead(409).end("paused");
    if (mode === "busy") return void response.writeHead(429).end("too many");
    const vms = mode === "missing" ? new Set<string>() : call.vms;
    const rest = restOf(request);
    const held = { get: (asked: string) => (vms.has(asked) ? this.#vm : undefined) };
    const store = { pausedRecordOf: () => undefined };
    await forwardRequest({ vms: held, store, id, rest, request, response });
  }

  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    if (socket instanceof Socket)
      await forwardUpgrade(this.#vm, restOf(request), request, socket, head);
  }

  /** Closes the sockets of previews, as a machine that ends does. */
  endSockets(code: number, reason: string): void {
    for (const socket of this.#vm.previewSockets) socket.end(code, reason);
  }

  /** How the next socket ends that is opened: one that was there before may still be closing. */
  async endOfNext(): Promise<{ code: number; reason: string }> {
    const socket = await new Promise<WebSocket>((resolve) => (this.#onNext = resolve));
    const [code, reason] = await once(socket, "close");
    return { code, reason: String(reason) };
  }

  /** Echoes messages; `headers` and `url` say what the upgrade carried, `close 4404` closes with that code. */
  control(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#sockets.handleUpgrade(request, socket, head, (client) => {
      client.on("error", () => client.terminate());
      if (this.onControl) return this.onControl(client);
      this.#onNext?.(client);
      this.#onNext = null;
      client.on("message", (data, isBinary) => {
        const text = String(data as Buffer);
        if (text === "headers") client.send(JSON.stringify(request.rawHeaders));
        else if (text === "url") client.send(request.url ?? "");
        else if (/^close \d{4}$/.test(text)) client.close(Number(text.slice(6)), "a reason");
        else client.send(data, { binary: isBinary });
      });
    });
  }

  /** One event at once, the next when the client has come back to say that it got it. */
  async #events(response: ServerResponse): Promise<void> {
    if (this.#goOn) {
      this.#goOn();
      return void response.end("went on");
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("data: one\n\n");
    this.#goOn = () => {
      this.#goOn = null;
      response.end("data: two\n\n");
    };
  }

  async #dial(port: number): Promise<Socket> {
    if (!OPEN_PORTS.includes(port)) throw refuse("ConnectionRefused", "nothing listens");
    this.#listening ??= once(this.#server.listen(0, "127.0.0.1"), "listening");
    await this.#listening;
    const socket = connect((this.#server.address() as AddressInfo).port, "127.0.0.1");
    await once(socket, "connect");
    return socket;
  }
}

const restOf = ({ url = "" }: IncomingMessage): string => url.replace(/^\/vms\/[^/]+\//, "");

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method, url = "", rawHeaders } = request;
  const [, kind = "", detail] = url.split(/[/?]/);
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const part of request) {
    hash.update(part);
    bytes += Buffer.from(part).length;
  }
  switch (kind) {
    case "gzip":
      return plain(response, gzipSync(TEXT), { "content-encoding": "gzip" });
    case "br":
      return plain(response, brotliCompressSync(TEXT), { "content-encoding": "br" });
    case "status":
      return void response.writeHead(Number(detail)).end();
    case "redirect":
      response.setHeader("set-cookie", ["a=1; Path=/", "b=2; Domain=preview.test; HttpOnly"]);
      return void response.writeHead(302, { location: "/next?x=%2F&svc_token=kept" }).end();
    case "cut":
      response.writeHead(200);
      return void response.write("half", () => response.destroy());
    case "spoof":
      return plain(response, "spoofed", { "x-svc-answer": "host", "x-svc-other": "1" });
    default: {
      const body = { method, url, rawHeaders, bytes, sha256: hash.digest("hex") };
      response.writeHead(200, { "content-type": "application/json", "x-inside": "1" });
      return void response.end(JSON.stringify(body));
    }
  }
}

function plain(response: ServerResponse, body: string | Buffer, headers: object): void {
  const length = { "content-length": Buffer.byteLength(body) };
  response.writeHead(200, { "content-type": "text/plain", ...length, ...headers }).end(body);
}
