import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { ProxyApplied } from "@svc/contract/browser/proxy.ts";
import {
  OPENS_HEADER,
  PlaceSlot,
  STATE_LOST_HEADER,
  SlotHandoff,
} from "@svc/contract/host-protocol/slots.ts";
import { readHostBearer } from "@svc/contract/tokens.ts";
import { WebSocketServer } from "ws";
import * as z from "zod";
import { FilesMode, PoolFiles } from "./pool-files.ts";
import { LASTING, servingAll } from "./serving.ts";

/** How a fake pool answers. */
export const FakePoolMode = z.object({
  /** `full`: 409 at once; `unable`: 503 with a hint; `hang`: never; `answer`: `status` and `body`. */
  put: z.enum(["ok", "full", "unable", "hang", "answer", "redirect"]).default("ok"),
  status: z.coerce.number().default(500),
  body: z.string().default(""),
  /** The exit that it says sessions leave by. */
  proxy: ProxyApplied.nullable().default(null),
  /** What it says of captchas. */
  captcha: z.object({ active: z.boolean() }).nullable().default(null),
  upgrade: z.enum(["echo", "refuse", "missing", "wire", "full", "hang", "drop"]).default("echo"),
  remove: z.enum(["ok", "hang"]).default("ok"),
  files: FilesMode.default("ok"),
  /** `hold`: who asks for a feed waits until the mode is another; then it is said to be open. */
  feed: z.enum(["open", "hold"]).default("open"),
  /** How it answers that a hand-off is open, or over; `missing`: as a pool that does not know the call. */
  handoff: z.enum(["ok", "missing", "hang"]).default("ok"),
  /** What it says of the state of every browser. */
  state: z
    .object({ status: z.int(), body: z.string() })
    .default({ status: 200, body: '{"cookies":[],"origins":[]}' }),
  /** The counts it gives of every session when it is asked; null: 404. */
  seen: z
    .object({
      opens: z.int(),
      closes: z.int(),
      lastClose: z.enum(["clean", "dropped"]).exactOptional(),
    })
    .nullable()
    .default(null),
});
export type FakePoolMode = z.infer<typeof FakePoolMode>;

/** What a fake pool was asked. */
export interface FakePoolCall {
  method: string;
  path: string;
  org: string | null;
  body: unknown;
}

const PUT_ANSWERS = {
  full: { status: 409, body: '{"error":"full"}' },
  unable: { status: 503, body: '{"error":"no","hint":"Install Chromium."}' },
  redirect: { status: 302, body: "" },
};

/** Speaks the pool's side of the host protocol over real sockets, with no browser behind it. */
export class FakePool {
  mode: FakePoolMode = FakePoolMode.parse({});
  readonly calls: FakePoolCall[] = [];
  readonly bootId = crypto.randomUUID();
  seq = 0;
  readonly #files = new PoolFiles();
  readonly #hostToken: string;
  readonly #server: Server;
  readonly #sockets = new WebSocketServer({ noServer: true });
  #heldFeeds: ServerResponse[] = [];
  /** Sockets of each path that were opened, ever. */
  readonly #opens = new Map<string, number>();

  constructor(hostToken: string) {
    this.#hostToken = hostToken;
    const answer = servingAll((request, response) => this.#answer(request, response));
    this.#server = createServer(LASTING, answer);
    this.#sockets.on("headers", (headers, { url = "" }) => {
      headers.push(`${OPENS_HEADER}: ${this.#opens.get(url)}`);
    });
    this.#server.on("upgrade", (request, socket, head) => {
      socket.on("error", () => socket.destroy());
      this.#upgrade(request, socket, head).catch(() => socket.destroy());
    });
  }

  async listen(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return this.url;
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}`;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate();
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await bodyOf(request);
    if (request.url === "/control") return this.#control(text, response);
    if (!(await this.#isAllowed(request, text))) return send(response, 401, "");
    if (isOfFiles(request)) return this.#files.answer(this.mode.files, request, text, response);
    if (request.method === "DELETE") {
      if (this.mode.remove === "ok") send(response, 204, "");
      return;
    }
    if (request.url?.endsWith("/allowed-domains")) return send(response, 200, "{}");
    if (request.url?.endsWith("/handoff")) return this.#hearOfHandoff(text, response);
    if (request.url?.endsWith("/state")) return this.#tellState(response);
    if (request.url?.endsWith("/feed")) {
      this.#heldFeeds.push(response);
      return this.#openFeeds();
    }
    if (request.method === "GET") return this.#see(request.url ?? "", response);
    if (request.url === "/drain") return send(response, 202, "");
    if (request.method !== "PUT") return send(response, 404, "");
    if (!PlaceSlot.safeParse(JSON.parse(text)).success) return send(response, 400, "no PlaceSlot");
    const { put, status, body, proxy, captcha } = this.mode;
    if (put === "hang") return;
    // Followed, this would lead back here, to an answer that places the session.
    if (put === "redirect") response.setHeader("location", "/control");
    if (put === "answer") return send(response, status, body);
    if (put !== "ok") return send(response, PUT_ANSWERS[put].status, PUT_ANSWERS[put].body);
    this.seq += 1;
    const exit = proxy ? { proxy } : {};
    const placed = {
      acquiredMs: 1,
      bootId: this.bootId,
      seq: this.seq,
      ...exit,
      ...(captcha && { captcha }),
    };
    send(response, 201, JSON.stringify(placed));
  }

  #hearOfHandoff(text: string, response: ServerResponse): void {
    const { handoff } = this.mode;
    if (handoff === "hang") return;
    const isKnown = SlotHandoff.safeParse(JSON.parse(text)).success;
    send(response, handoff === "missing" ? 404 : isKnown ? 204 : 400, "");
  }

  #openFeeds(): void {
    if (this.mode.feed === "hold") return;
    for (const response of this.#heldFeeds.splice(0)) send(response, 204, "");
  }

  #tellState(response: ServerResponse): void {
    const { status, body } = this.mode.state;
    response.writeHead(status, {
      "content-length": Buffer.byteLength(body),
      [STATE_LOST_HEADER]: 3,
    });
    response.end(body);
  }

  /** What it says of a session when it is asked. */
  #see(path: string, response: ServerResponse): void {
    const { seen } = this.mode;
    if (!seen) return send(response, 404, "");
    const id = decodeURIComponent(path.split("/").at(-1) ?? "");
    const slot = { id, kind: "fast", lastActivityAt: 0, ...seen };
    send(response, 200, JSON.stringify({ bootId: this.bootId, slot }));
  }

  /** Tests in workerd steer a pool over its own port: a body sets the mode; it answers what was asked so far and the seq of its next heartbeat. */
  #control(text: string, response: ServerResponse): void {
    if (text !== "") this.mode = FakePoolMode.parse(JSON.parse(text));
    this.#openFeeds();
    this.seq += 1;
    const { calls, bootId, seq } = this;
    send(response, 200, JSON.stringify({ calls, bootId, seq }));
  }

  async #isAllowed(request: IncomingMessage, text: string): Promise<boolean> {
    const path = request.url ?? "/";
    const bearer = request.headers.authorization?.replace(/^Bearer /, "") ?? "";
    const claims = await readHostBearer(this.#hostToken, bearer, Date.now());
    const body: unknown = text === "" || isOfFiles(request) ? null : JSON.parse(text);
    this.calls.push({ method: request.method ?? "", path, org: claims?.org ?? null, body });
    const [first = "", id] = path.slice(1).split("/");
    return claims?.id === decodeURIComponent(id ?? first);
  }

  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const allowed = await this.#isAllowed(request, "");
    const { upgrade } = this.mode;
    if (upgrade === "hang") return;
    if (upgrade === "drop") return void socket.destroy();
    const answers = {
      refuse: "403 Forbidden",
      missing: "404 Not Found",
      wire: "428 Precondition Required",
      full: "429 Too Many Requests",
    };
    if (!allowed || upgrade !== "echo") {
      const status = allowed && upgrade !== "echo" ? answers[upgrade] : "401 Unauthorized";
      socket.end(`HTTP/1.1 ${status}\r\nContent-Length: 5\r\nConnection: close\r\n\r\nfake\n`);
      return;
    }
    const path = request.url ?? "";
    this.#opens.set(path, (this.#opens.get(path) ?? 0) + 1);
    this.#sockets.handleUpgrade(request, socket, head, (client) => {
      client.on("error", () => client.terminate());
      client.on("message", (data, isBinary) => {
        const text = String(data as Buffer);
        if (text === "headers") client.send(JSON.stringify(request.headers));
        else client.send(data, { binary: isBinary });
      });
    });
  }
}

const isOfFiles = ({ url = "" }: IncomingMessage): boolean => /^\/slots\/[^/]+\/files/.test(url);

/** The text of a request's body. */
export async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  return text;
}

/** Answers JSON, or whatever the text is. */
export function send(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(body);
}
