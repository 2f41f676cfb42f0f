import { once } from "node:events";
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { PoolHeartbeat } from "@svc/contract/host-protocol/heartbeat.ts";
import type { SlotPlaced } from "@svc/contract/host-protocol/slots.ts";
import { isFromGateway } from "@svc/host-kit/bearer.ts";
import { replyJson, replyText } from "@svc/host-kit/reply.ts";
import { WebSocketServer } from "ws";
import { progress, serve } from "./traffic.ts";

const IDLE = 100;

/** Speaks the pool's side of the host protocol; behind it are sockets that echo, drain and flood. */
export class FakePool {
  readonly #bootId = crypto.randomUUID();
  readonly #hostToken: string;
  readonly #onChange: () => void;
  readonly #server: Server;
  readonly #sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
  /** Sockets of each session. */
  readonly #sessions = new Map<string, { opens: number; closes: number }>();
  #seq = 0;

  constructor(hostToken: string, onChange: () => void) {
    this.#hostToken = hostToken;
    this.#onChange = onChange;
    // A gateway may send its next call on a connection just as Node closes it for its idleness.
    const options = { keepAliveTimeout: 0 };
    this.#server = createServer(
      options,
      (request, response) => void this.#answer(request, response),
    );
    this.#server.on("upgrade", (request, socket, head) => {
      socket.on("error", () => socket.destroy());
      void this.#upgrade(request, socket, head);
    });
  }

  async listen(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return this.#url;
  }

  end(ids: string[]): void {
    for (const id of ids) this.#sessions.delete(id);
  }

  beat(): PoolHeartbeat {
    const now = Date.now();
    const slots = [...this.#sessions].map(
      ([id, counts]) => ({ id, kind: "fast", ...counts, lastActivityAt: now }) as const,
    );
    return {
      type: "pool",
      bootId: this.#bootId,
      seq: this.#nextSeq(),
      url: this.#url,
      versions: { chromium: "", wire: [] },
      isolation: "none",
      memoryCap: false,
      egressAllow: [],
      kinds: { fast: { idle: IDLE, busy: slots.length, recycling: 0 } },
      slots,
    };
  }

  get #url(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}`;
  }

  #nextSeq(): number {
    this.#seq += 1;
    return this.#seq;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url === "/progress") return replyJson(response, 200, progress());
    const id = idOf(request);
    if (!(await isFromGateway(request, this.#hostToken, id))) return replyText(response, 401);
    if (request.method === "PUT") {
      this.#sessions.set(id, { opens: 0, closes: 0 });
      const bootId = this.#bootId;
      const placed: SlotPlaced = { acquiredMs: 0, bootId, seq: this.#nextSeq() };
      replyJson(response, 201, placed);
    } else {
      this.#sessions.delete(id);
      replyText(response, 204);
    }
    this.#onChange();
  }

  /** `/direct` is for the client that goes without the gateway. */
  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const id = idOf(request);
    const isDirect = request.url === "/direct";
    if (!isDirect && !(await isFromGateway(request, this.#hostToken, id))) {
      socket.end("HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n\r\n");
      return;
    }
    this.#sockets.handleUpgrade(request, socket, head, (webSocket) => {
      serve(webSocket);
      if (isDirect) return;
      this.#count(id, "opens");
      webSocket.on("close", () => this.#count(id, "closes"));
    });
  }

  #count(id: string, what: "opens" | "closes"): void {
    const counts = this.#sessions.get(id);
    if (counts) counts[what] += 1;
    this.#onChange();
  }
}

function idOf(request: IncomingMessage): string {
  return decodeURIComponent(request.url?.split("/").at(-1) ?? "");
}
