import { once } from "node:events";
import { type Server, type Socket, connect, createServer } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import type { Identity } from "../../support/process/certificates.ts";
import { take, takeAll } from "../../../browser-pool/egress/socks.ts";

const NEVER = new AbortController().signal;

/** How a provider's proxy behaves once it is asked for a tunnel. `half`: it says half of its answer and no more. */
export type Fault = "mute" | "half" | "garbage" | "refusing" | "ending";

/** A provider's proxy on loopback: credentials, an address of its own for what leaves, and every name is this computer. */
export class Upstream {
  /** The names under which tunnels were asked for, with their targets. */
  readonly asked: { name: string; target: string }[] = [];
  /** Set: the proxy fails so from now on. */
  fault: Fault | null = null;
  readonly #exit: string;
  readonly #password: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  /** `exit`: the address that targets see. Without a password, over SOCKS, anybody is served. `identity`: the proxy is spoken to over TLS, and proves to be this. */
  constructor(exit: string, password = "pw", identity: Identity | null = null) {
    this.#exit = exit;
    this.#password = password;
    const serve = (client: Socket): void => {
      this.#keep(client);
      this.#serve(client).catch(() => client.destroy());
    };
    this.#server = identity ? createTlsServer(identity, serve) : createServer(serve);
    this.#server.on("connection", (socket) => this.#keep(socket));
  }

  /** How many connections are open, with those to targets. */
  get open(): number {
    return this.#sockets.size;
  }

  async start(): Promise<this> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return this;
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("not listening");
    return address.port;
  }

  /** Ends every tunnel, and takes connections as before. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Nobody is there any more. */
  stop(): void {
    this.#server.close();
    this.cut();
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => this.#sockets.delete(socket));
  }

  async #serve(client: Socket): Promise<void> {
    const [first = 0] = await take(client, 1, NEVER);
    if (first === 5) await this.#serveSocks(client);
    else await this.#serveHttp(client, String.fromCharCode(first));
  }

  async #serveHttp(client: Socket, first: string): Promise<void> {
    let head = first;
    while (!head.endsWith("\r\n\r\n")) head += String(await takeAll(client, NEVER));
    const [, target = ""] = /^CONNECT (\S+) HTTP/.exec(head) ?? [];
    const [, pair = ""] = /\r\nproxy-authorization: basic (\S+)/i.exec(head) ?? [];
    const [name = "", password] = Buffer.from(pair, "base64").toString().split(":");
    if (password !== this.#password)
      return void client.end("HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic\r\n\r\n");
    this.asked.push({ name, target });
    if (this.#fails(client, "HTTP/1.1 20", "HTTP/1.1 502 No\r\n\r\n")) return;
    const origin = await this.#reach(target);
    // The origin's first bytes may come with the answer.
    client.write("HTTP/1.1 200 Yes\r\nX-Exit: mine\r\n\r\n");
    this.#join(client, origin);
  }

  async #serveSocks(client: Socket): Promise<void> {
    const [count = 0] = await take(client, 1, NEVER);
    await take(client, count, NEVER);
    client.write(Buffer.from([5, this.#password === "" ? 0 : 2]));
    const name = this.#password === "" ? "" : await this.#nameBySocks(client);
    if (name === null) return;
    const [, , , kind = 0] = await take(client, 4, NEVER);
    const size = kind === 3 ? (await take(client, 1, NEVER)).readUInt8() : kind === 1 ? 4 : 16;
    const host = await take(client, size, NEVER);
    const port = (await take(client, 2, NEVER)).readUInt16BE();
    const target = `${kind === 3 ? String(host) : [...host].join(".")}:${port}`;
    this.asked.push({ name, target });
    if (this.#fails(client, "\u0005", "\u0005\u0001\0\u0001\0\0\0\0\0\0")) return;
    const origin = await this.#reach(target);
    client.write(Buffer.from([5, 0, 0, 3, 1, 120, 0, 0]));
    this.#join(client, origin);
  }

  /** Null: the password is wrong. */
  async #nameBySocks(client: Socket): Promise<string | null> {
    const [, length = 0] = await take(client, 2, NEVER);
    const name = String(await take(client, length, NEVER));
    const [longer = 0] = await take(client, 1, NEVER);
    const password = String(await take(client, longer, NEVER));
    client.write(Buffer.from([1, password === this.#password ? 0 : 1]));
    return password === this.#password ? name : null;
  }

  /** Whether it fails, as it is told to. */
  #fails(client: Socket, half: string, refusal: string): boolean {
    const { fault } = this;
    if (fault === "half") client.write(half, "latin1");
    if (fault === "garbage") client.write("\0\u0001 I am a toaster\r\n\r\n", "latin1");
    if (fault === "refusing") client.write(refusal, "latin1");
    if (fault === "ending") client.end();
    return fault !== null;
  }

  async #reach(target: string): Promise<Socket> {
    const port = Number(/:(\d+)$/.exec(target)?.[1]);
    const origin = connect({ host: "127.0.0.1", port, localAddress: this.#exit });
    this.#keep(origin);
    await once(origin, "connect");
    return origin;
  }

  #join(client: Socket, origin: Socket): void {
    client.pipe(origin).pipe(client);
    client.on("close", () => origin.destroy());
    origin.on("close", () => client.destroy());
  }
}
