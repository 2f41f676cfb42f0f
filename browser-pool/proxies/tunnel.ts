import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { type Socket, isIP } from "node:net";
import { connected, secured } from "../egress/connect.ts";
import { type NetError, Refusal } from "../egress/refusal.ts";
import { type SocksTarget, take, takeAll } from "../egress/socks.ts";
import type { ProxyServer } from "./template.ts";

/** Longer than the head of any proxy's answer. */
const HEAD_BYTES = 16_384;
const START = "HTTP/1.";
const END_OF_HEAD = "\r\n\r\n";
const HOST = /^[\w.:-]{1,255}$/;

// SOCKS 5 (RFC 1928) and its names and passwords (RFC 1929).
const VERSION = 5;
const OPEN = 0;
const PASSWORD = 2;
const CONNECT = 1;
const IPV4 = 1;
const NAME = 3;
const IPV6 = 4;
const REPLIES: Record<number, NetError> = {
  3: "ERR_ADDRESS_UNREACHABLE",
  4: "ERR_NAME_NOT_RESOLVED",
  5: "ERR_CONNECTION_REFUSED",
  6: "ERR_CONNECTION_TIMED_OUT",
};

/** The proxy itself has failed, not the target: why, for the log of the host. */
export class ProxyFault extends Refusal {
  readonly why: string;
  /** Whether the provider itself is not reached: no exit of its would do better. */
  readonly isOfProvider: boolean;

  constructor(
    why: string,
    netError: NetError = "ERR_PROXY_CONNECTION_FAILED",
    isOfProvider = false,
  ) {
    super(netError);
    this.why = why;
    this.isOfProvider = isOfProvider;
  }
}

/**
 * A connection to a target through a proxy, which resolves its name. Every target is tunnelled, those of plain http too: the
 * proxy passes bytes on and changes none. Rejects with a `Refusal`; the socket of a failed try is closed.
 */
export async function openTunnel(
  proxy: ProxyServer,
  target: SocksTarget,
  signal: AbortSignal,
): Promise<Socket> {
  if (!HOST.test(target.host)) throw new Refusal("ERR_NAME_NOT_RESOLVED");
  const socket = await reach(proxy, signal);
  // From here to the moment when somebody else listens.
  socket.on("error", () => {});
  const leave = (): void => void socket.destroy();
  signal.addEventListener("abort", leave);
  try {
    await (proxy.scheme === "socks5" ? askSocks : askHttp)(socket, proxy, target, signal);
    signal.throwIfAborted();
    return socket;
  } catch (error) {
    socket.destroy();
    if (error instanceof Refusal) throw error;
    throw new ProxyFault(
      signal.aborted ? "it does not answer in time" : "it ends in the middle of its answer",
    );
  } finally {
    signal.removeEventListener("abort", leave);
  }
}

const unreached = (why: string): ProxyFault =>
  new ProxyFault(why, "ERR_PROXY_CONNECTION_FAILED", true);

async function reach({ scheme, host, port }: ProxyServer, signal: AbortSignal): Promise<Socket> {
  const found = await addressesOf(host, signal);
  if (found.length === 0)
    throw unreached(signal.aborted ? "its name is not known in time" : "its name is not known");
  try {
    const socket = await connected(found, port, signal);
    return scheme === "https" ? await secured(socket, host, signal) : socket;
  } catch (error) {
    throw unreached(reasonOf(error, signal.aborted));
  }
}

function reasonOf(error: unknown, isLate: boolean): string {
  if (error instanceof Refusal && error.reason !== null) return error.reason;
  if (isLate) return "it is not reached in time";
  const code = error instanceof Error && "code" in error ? String(error.code) : "no connection";
  return `it is not reached: ${code}`;
}

/** A look-up of the system cannot be stopped: nobody waits for it once `signal` ends. */
async function addressesOf(host: string, signal: AbortSignal): Promise<LookupAddress[]> {
  const family = isIP(host);
  if (family > 0) return [{ address: host, family }];
  const over = new AbortController();
  const none = once(signal, "abort", { signal: over.signal }).then(() => []);
  none.catch(() => {});
  try {
    signal.throwIfAborted();
    return await Promise.race([lookup(host, { all: true }), none]);
  } catch {
    return [];
  } finally {
    over.abort();
  }
}

type Ask = (
  socket: Socket,
  proxy: ProxyServer,
  target: SocksTarget,
  signal: AbortSignal,
) => Promise<void>;

const askHttp: Ask = async (socket, { credentials }, { host, port }, signal) => {
  const authority = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  const lines = [`CONNECT ${authority} HTTP/1.1`, `Host: ${authority}`];
  if (credentials) {
    const pair = Buffer.from(`${credentials.name}:${credentials.password}`).toString("base64");
    lines.push(`Proxy-Authorization: Basic ${pair}`);
  }
  socket.write(`${lines.join("\r\n")}${END_OF_HEAD}`);
  const head = await readHead(socket, signal);
  const status = Number(/^HTTP\/1\.\d (\d{3})\b/.exec(head)?.[1]);
  if (status === 407) throw new ProxyFault("it refuses the credentials (407)");
  if (!(status >= 200 && status < 300))
    throw new ProxyFault(`it answers ${status}`, "ERR_TUNNEL_CONNECTION_FAILED");
};

/** The head of an answer; what comes after it stays in the socket. */
async function readHead(socket: Socket, signal: AbortSignal): Promise<string> {
  let bytes = Buffer.alloc(0);
  for (;;) {
    bytes = Buffer.concat([bytes, await takeAll(socket, signal)]);
    const head = bytes.toString("latin1", 0, HEAD_BYTES);
    if (!START.startsWith(head.slice(0, START.length)))
      throw new ProxyFault("it does not speak HTTP");
    const end = head.indexOf(END_OF_HEAD);
    if (end < 0 && head.length < HEAD_BYTES) continue;
    if (end < 0) throw new ProxyFault("its answer does not end");
    const rest = bytes.subarray(end + END_OF_HEAD.length);
    if (rest.length > 0) socket.unshift(rest);
    return head.slice(0, end);
  }
}

const askSocks: Ask = async (socket, { credentials }, { host, port }, signal) => {
  const method = credentials ? PASSWORD : OPEN;
  socket.write(Buffer.from([VERSION, 1, method]));
  const [version, chosen] = await take(socket, 2, signal);
  if (version !== VERSION) throw new ProxyFault("it does not speak SOCKS 5");
  if (chosen !== method) throw new ProxyFault("it wants other credentials");
  if (credentials) await authenticate(socket, credentials, signal);
  socket.write(Buffer.concat([Buffer.from([VERSION, CONNECT, 0]), addressOf(host), portOf(port)]));
  const [again, reply = 255, , kind = 0] = await take(socket, 4, signal);
  if (again !== VERSION) throw new ProxyFault("it does not speak SOCKS 5");
  if (reply !== 0)
    throw new ProxyFault(`it answers ${reply}`, REPLIES[reply] ?? "ERR_TUNNEL_CONNECTION_FAILED");
  const lengths: Record<number, number> = { [IPV4]: 4, [IPV6]: 16 };
  const length = lengths[kind] ?? (await take(socket, 1, signal))[0] ?? 0;
  await take(socket, length + 2, signal);
};

async function authenticate(
  socket: Socket,
  { name, password }: { name: string; password: string },
  signal: AbortSignal,
): Promise<void> {
  socket.write(Buffer.concat([Buffer.from([1]), counted(name), counted(password)]));
  const [, status] = await take(socket, 2, signal);
  if (status !== 0) throw new ProxyFault("it refuses the credentials");
}

/** A text of at most 255 bytes, after its length. */
function counted(text: string): Buffer {
  const bytes = Buffer.from(text);
  if (bytes.length > 255) throw new ProxyFault("the credentials are longer than SOCKS 5 takes");
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
}

function addressOf(host: string): Buffer {
  const family = isIP(host);
  if (family === 4) return Buffer.from([IPV4, ...host.split(".").map(Number)]);
  if (family === 0) return Buffer.concat([Buffer.from([NAME]), counted(host)]);
  return Buffer.concat([Buffer.from([IPV6]), bytesOfIpv6(host)]);
}

/** The forwarder writes such an address in full; a URL may have it shortened. */
function bytesOfIpv6(address: string): Buffer {
  const [head = "", tail] = address.split("::");
  const groups = (text = ""): string[] => text.split(":").filter(Boolean);
  const missing = 8 - groups(head).length - groups(tail).length;
  const all = [
    ...groups(head),
    ...Array<string>(tail === undefined ? 0 : missing).fill("0"),
    ...groups(tail),
  ];
  return Buffer.from(all.map((group) => group.padStart(4, "0")).join(""), "hex");
}

const portOf = (port: number): Buffer => Buffer.from([port >> 8, port & 255]);
