import { once } from "node:events";
import type { Socket } from "node:net";
import type { NetError } from "./refusal.ts";

// SOCKS version 5 (RFC 1928) as browsers speak it: no authentication, CONNECT only, names are resolved by the proxy.
const VERSION = 5;
const CONNECT = 1;
const IPV4 = 1;
const NAME = 3;
const IPV6 = 4;
const NO_AUTHENTICATION = 0;
const NO_METHOD = 255;

const NOT_SUPPORTED = 7;
const REPLIES: Partial<Record<NetError, number>> = {
  ERR_BLOCKED_BY_ADMINISTRATOR: 2,
  ERR_ADDRESS_UNREACHABLE: 3,
  ERR_NAME_NOT_RESOLVED: 4,
  ERR_CONNECTION_REFUSED: 5,
  ERR_CONNECTION_TIMED_OUT: 6,
};
const FAILED = 1;
const SUCCEEDED = 0;

/** The target that a client asks for. */
export interface SocksTarget {
  host: string;
  port: number;
}

/** The first byte of a connection that names a proxy before it speaks SOCKS. */
const PROXY_FOLLOWS = 0;

/** The bytes by which Playwright's process says which proxy of a customer a connection is for. */
export function prefaceFor(url: string): Buffer {
  const name = Buffer.from(url);
  return Buffer.concat([Buffer.from([PROXY_FOLLOWS, name.length >> 8, name.length & 255]), name]);
}

/** The URL in such a preface; null when the client speaks SOCKS. */
export async function readPreface(socket: Socket, signal: AbortSignal): Promise<string | null> {
  const first = await take(socket, 1, signal);
  if (first[0] === PROXY_FOLLOWS) {
    const length = (await take(socket, 2, signal)).readUInt16BE();
    return (await take(socket, length, signal)).toString();
  }
  socket.unshift(first);
  return null;
}

/** Reads what a client asks for. Rejects when the client speaks otherwise or `signal` ends first. */
export async function readTarget(socket: Socket, signal: AbortSignal): Promise<SocksTarget> {
  const [version = 0, count = 0] = await take(socket, 2, signal);
  if (version !== VERSION) throw new Error("not SOCKS 5");
  const methods = await take(socket, count, signal);
  const isOpen = methods.includes(NO_AUTHENTICATION);
  socket.write(Buffer.from([VERSION, isOpen ? NO_AUTHENTICATION : NO_METHOD]));
  if (!isOpen) throw new Error("the client wants to authenticate itself");
  const [, command, , kind = 0] = await take(socket, 4, signal);
  if (command !== CONNECT) {
    answer(socket, NOT_SUPPORTED);
    throw new Error("the client wants more than a connection");
  }
  const host = await readHost(socket, kind, signal);
  return { host, port: (await take(socket, 2, signal)).readUInt16BE() };
}

/** Tells the client that its bytes reach the target from now on. */
export function accept(socket: Socket): void {
  answer(socket, SUCCEEDED);
}

/** Tells the client why they do not. */
export function refuse(socket: Socket, netError: NetError): void {
  answer(socket, REPLIES[netError] ?? FAILED);
}

async function readHost(socket: Socket, kind: number, signal: AbortSignal): Promise<string> {
  if (kind === IPV4) return [...(await take(socket, 4, signal))].join(".");
  if (kind === IPV6) {
    const digits = (await take(socket, 16, signal)).toString("hex");
    return (digits.match(/.{4}/g) ?? []).join(":");
  }
  if (kind !== NAME) throw new Error("an address of no known kind");
  const [length = 0] = await take(socket, 1, signal);
  return (await take(socket, length, signal)).toString("latin1");
}

function answer(socket: Socket, reply: number): void {
  socket.write(Buffer.from([VERSION, reply, 0, IPV4, 0, 0, 0, 0, 0, 0]));
}

/** The next `length` bytes; what comes after them stays in the socket. Rejects when the socket ends before, or `signal` does. */
export async function take(socket: Socket, length: number, signal: AbortSignal): Promise<Buffer> {
  let taken = Buffer.alloc(0);
  while (taken.length < length) taken = Buffer.concat([taken, await takeAll(socket, signal)]);
  if (taken.length > length) socket.unshift(taken.subarray(length));
  return taken.subarray(0, length);
}

/** All that is there, at least a byte: a socket with a rest is readable again at once, and again, with nobody else being served. */
export async function takeAll(socket: Socket, signal: AbortSignal): Promise<Buffer> {
  for (;;) {
    signal.throwIfAborted();
    const bytes: unknown = socket.read();
    if (Buffer.isBuffer(bytes)) return bytes;
    if (socket.readableEnded || socket.destroyed)
      throw new Error("the other side left in the middle");
    await readable(socket, signal);
  }
}

/** Resolves when there is something to read, or nothing more to come. */
async function readable(socket: Socket, signal: AbortSignal): Promise<void> {
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  try {
    const events = ["readable", "end", "close"];
    await Promise.race(events.map((event) => once(socket, event, { signal: either })));
  } finally {
    over.abort();
  }
}
