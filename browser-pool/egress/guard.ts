import { AsyncLocalStorage } from "node:async_hooks";
import { Socket } from "node:net";
import { isRefusedAddress } from "./addresses.ts";
import type { Allowance } from "./allowance.ts";

const trust = new AsyncLocalStorage<true>();
const checked = new WeakSet<object>();

/** Runs what connects for the pool itself: to its gateway, to its own endpoints on loopback. */
export function trusted<T>(work: () => T): T {
  return trust.run(true, work);
}

/** Says of a look-up that it answers with addresses that were checked already. */
export function markChecked<T extends object>(lookup: T): T {
  checked.add(lookup);
  return lookup;
}

/**
 * Playwright's API requests (`page.request`) leave from this process, not from the browser, to wherever a
 * client says. So no socket of this process reaches a refused address, unless the pool itself opens it or
 * the pair is let through. Node asks a socket's `blockList` at the connect, with the resolved address.
 */
export function guardConnections(allowance: Allowance): void {
  const connect: unknown = Reflect.get(Socket.prototype, "connect");
  if (typeof connect !== "function") throw new TypeError("a socket cannot connect");
  Object.defineProperty(Socket.prototype, "connect", {
    configurable: true,
    writable: true,
    value(this: Socket, ...args: unknown[]): unknown {
      const { port, lookup } = targetOf(args);
      const isFree = trust.getStore() === true || (lookup !== null && checked.has(lookup));
      const check = (address: string): boolean =>
        isRefusedAddress(address) && !allowance.has(address, port);
      if (!isFree) Object.assign(this, { blockList: { check } });
      return connect.apply(this, args);
    },
  });
}

function targetOf(args: unknown[]): { port: number; lookup: object | null } {
  // Node's own callers pass the normalised arguments as one array.
  const first: unknown = Array.isArray(args[0]) ? args[0][0] : args[0];
  const named: object = typeof first === "object" && first !== null ? first : {};
  const lookup = "lookup" in named && typeof named.lookup === "function" ? named.lookup : null;
  return { port: Number("port" in named ? named.port : first), lookup };
}
