import { AsyncLocalStorage } from "node:async_hooks";
import { Server, Socket } from "node:net";
import { prefaceFor } from "../egress/socks.ts";
import { egressOf, keyOfProxy, upstreamUrlIn } from "../playwrights/folders.ts";

const REFUSED = "Not reachable from here.";
const listening = new AsyncLocalStorage<{ path: string; server: Server | null }>();

/** Does `work`. A server that listens in it listens on a unix socket at `path`, whatever it asks for. Returns that server too. */
export async function listeningAt<T>(
  path: string,
  work: () => Promise<T>,
): Promise<{ result: T; server: Server | null }> {
  const spot = { path, server: null };
  const result = await listening.run(spot, work);
  return { result, server: spot.server };
}

/**
 * From now on servers of this process listen only inside `listeningAt`, and sockets connect only to the egress socket of a slot,
 * by the name of its proxy. The process has no network anyway: this refuses at once, and makes the one way out.
 */
export function closeNetwork(root: string): void {
  replace(Server.prototype, "listen", (listen, server, args) => {
    const spot = listening.getStore();
    if (!spot || spot.server) throw new Error(REFUSED);
    spot.server = server;
    return listen.call(server, spot.path, ...args.filter((arg) => typeof arg === "function"));
  });
  replace(Socket.prototype, "connect", (connect, socket, args) => {
    const { host, done } = targetOf(args);
    const key = keyOfProxy(host);
    if (key !== null) {
      const connecting = connect.call(socket, { path: egressOf(root, key) }, ...done);
      const upstream = upstreamUrlIn(host);
      // Before all that the user of the socket writes.
      if (upstream !== null) socket.write(prefaceFor(upstream));
      return connecting;
    }
    return socket.destroy(new Error(REFUSED));
  });
}

type Method<Self> = (this: Self, ...args: unknown[]) => unknown;

function replace<Self extends object>(
  prototype: Self,
  name: string,
  instead: (method: Method<Self>, self: Self, args: unknown[]) => unknown,
): void {
  const method: unknown = Reflect.get(prototype, name);
  if (!isMethod<Self>(method)) throw new TypeError(`nothing can ${name}`);
  Object.defineProperty(prototype, name, {
    value(this: Self, ...args: unknown[]): unknown {
      return instead(method, this, args);
    },
  });
}

function isMethod<Self>(value: unknown): value is Method<Self> {
  return typeof value === "function";
}

function targetOf(args: unknown[]): { host: string; done: unknown[] } {
  // Node's own callers pass the normalised arguments as one array.
  const list: unknown[] = Array.isArray(args[0]) ? args[0] : args;
  const [first] = list;
  const named: object = typeof first === "object" && first !== null ? first : {};
  const host = "host" in named ? named.host : null;
  const done = list.filter((arg) => typeof arg === "function");
  return { host: typeof host === "string" ? host : "", done };
}
