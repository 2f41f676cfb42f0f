import type { LookupAddress } from "node:dns";
import { once } from "node:events";
import { type LookupFunction, type Server, type Socket, connect, createServer } from "node:net";
import type { Allowance } from "./allowance.ts";
import { Failures } from "./failures.ts";
import { join } from "./join.ts";
import { Refusal, refusalOf } from "./refusal.ts";
import { type SocksTarget, accept, readTarget, refuse } from "./socks.ts";
import { Targets } from "./targets.ts";
import { tellRefusal } from "./told-refusal.ts";

/** A browser's own patience with a proxy ends a little later. */
const CONNECT_MS = 25_000;
/** More than a browser opens: 32 to each proxy, and its WebSockets. */
export const MAX_CONNECTIONS = 512;
const FULL = "This browser has too many connections open.";

/**
 * The only way out of a slot, for its browser and for Playwright: a SOCKS proxy. It resolves names itself and connects to
 * exactly the addresses that it checked. What a browser sends arrives byte for byte, and so does what it is answered. Until
 * `open` the forwarder refuses everything: a warm browser reaches nobody.
 */
export class Forwarder {
  /** Why targets were not reached. */
  readonly failures = new Failures();
  readonly #targets: Targets;
  readonly #servers: Server[] = [];
  readonly #clients = new Set<Socket>();
  #isClosed = false;

  constructor(allowance: Allowance) {
    this.#targets = new Targets(allowance);
  }

  /** Takes connections on unix sockets. */
  async listen(...paths: string[]): Promise<void> {
    for (const path of paths) {
      const server = createServer();
      this.serve(server);
      server.listen(path);
      await once(server, "listening");
    }
  }

  /** Takes connections from a server. */
  serve(server: Server): void {
    if (this.#isClosed) {
      server.close();
      return;
    }
    // A server that was handed over knows no options.
    Object.assign(server, { allowHalfOpen: true });
    this.#servers.push(server);
    server.on("error", () => server.close());
    server.on("connection", (client) => void this.#take(client));
  }

  /** From now on public addresses, and the exact pairs of SVC_EGRESS_ALLOW, are reached. */
  open(): void {
    this.#targets.open();
  }

  close(): void {
    this.#isClosed = true;
    this.#targets.close();
    for (const server of this.#servers) server.close();
    for (const client of this.#clients) client.destroy();
  }

  async #take(client: Socket): Promise<void> {
    this.#clients.add(client);
    const leaving = new AbortController();
    client.once("close", () => {
      this.#clients.delete(client);
      leaving.abort();
    });
    client.on("error", () => client.destroy());
    client.setNoDelay(true);
    const signal = AbortSignal.any([leaving.signal, AbortSignal.timeout(CONNECT_MS)]);
    try {
      const target = await readTarget(client, signal);
      await this.#forward(client, target, signal);
    } catch {
      // The client left, speaks something else or is slow: nobody waits for an answer.
      client.destroy();
    }
  }

  async #forward(client: Socket, target: SocksTarget, signal: AbortSignal): Promise<void> {
    const { host, port } = target;
    try {
      if (this.#clients.size > MAX_CONNECTIONS)
        throw new Refusal("ERR_INSUFFICIENT_RESOURCES", FULL);
      const origin = await connected(await this.#targets.reach(host, port), port, signal);
      accept(client);
      join(client, origin);
    } catch (error) {
      const refusal = refusalOf(error);
      this.failures.note(host, port, refusal);
      if (refusal.reason !== null) await tellRefusal(client, refusal.reason, signal);
      else {
        refuse(client, refusal.netError);
        client.end();
      }
    }
  }
}

/** A connection to one of these addresses: that which answers first, as in a browser. */
async function connected(
  addresses: LookupAddress[],
  port: number,
  signal: AbortSignal,
): Promise<Socket> {
  const [first] = addresses;
  const lookupFixed = fixedLookup(addresses);
  const host = addresses.length === 1 && first ? first.address : "target.invalid";
  const origin = connect({ host, port, lookup: lookupFixed, allowHalfOpen: true, noDelay: true });
  try {
    await once(origin, "connect", { signal });
    return origin;
  } catch (error) {
    origin.on("error", () => {});
    origin.destroy();
    if (signal.aborted) throw new Refusal("ERR_CONNECTION_TIMED_OUT");
    throw error;
  }
}

// A second look-up could name another address than the one that was checked.
function fixedLookup(addresses: LookupAddress[]): LookupFunction {
  return (_host, options, done) => {
    const [first] = addresses;
    if (options.all) done(null, addresses);
    else done(null, first?.address ?? "", first?.family);
  };
}
