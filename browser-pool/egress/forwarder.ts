import { type LookupAddress, lookup, promises as dns } from "node:dns";
import { Agent } from "node:http";
import { type Socket, isIP } from "node:net";
import { RequestError, Server as ProxyServer } from "proxy-chain";
import { isRefusedAddress } from "./addresses.ts";
import type { Allowance } from "./allowance.ts";
import { markChecked } from "./guard.ts";

/**
 * The only way out of a slot: a forward proxy on a unix socket in the slot's folder. It resolves names
 * itself and connects to exactly the addresses it checked. Until `open` it refuses everything, so that a
 * warm browser reaches nobody.
 */
export class Forwarder {
  readonly #allowance: Allowance;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #proxy: ProxyServer;
  #isOpen = false;

  constructor(allowance: Allowance) {
    this.#allowance = allowance;
    this.#proxy = new ProxyServer({
      prepareRequestFunction: async ({ hostname, port }) => ({
        dnsLookup: fixedLookup(await this.#resolve(hostname, Number(port))),
        // The process-wide agent would share kept connections between sessions.
        httpAgent: this.#agent,
      }),
    });
    // proxy-chain drops sockets without a remote address, and unix sockets have none.
    this.#proxy.server.prependListener("connection", (socket: Socket) => {
      Object.defineProperty(socket, "remoteAddress", { value: "127.0.0.1" });
    });
    // A long upload is not a slow request.
    this.#proxy.server.requestTimeout = 0;
  }

  async listen(path: string): Promise<void> {
    const { server } = this.#proxy;
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(path, () => resolve());
    });
  }

  /** From now on targets on the public internet, and the exact pairs let through, are reached. */
  open(): void {
    this.#isOpen = true;
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    this.#agent.destroy();
    await this.#proxy.close(true);
  }

  async #resolve(hostname: string, port: number): Promise<LookupAddress[]> {
    if (!this.#isOpen) throw new RequestError("This browser has no session yet.", 403);
    const host = hostname.replace(/^\[|\]$/g, "");
    const found = await addressesOf(host);
    const good = found.filter(
      ({ address }) => !isRefusedAddress(address) || this.#allowance.has(address, port),
    );
    if (good.length > 0) return good;
    throw new RequestError("This address is private and not reachable from here.", 403);
  }
}

async function addressesOf(host: string): Promise<LookupAddress[]> {
  const family = isIP(host);
  if (family > 0) return [{ address: host, family }];
  try {
    return await dns.lookup(host, { all: true });
  } catch {
    throw new RequestError(`No address was found for ${host}.`, 502);
  }
}

// A second look-up could name another address than the one that was checked.
function fixedLookup(addresses: LookupAddress[]): typeof lookup {
  const answer = (...call: unknown[]): void => {
    const [, options, done] = call;
    const [first] = addresses;
    if (typeof done !== "function") throw new TypeError("look-up without a callback");
    const wantsAll = typeof options === "object" && options !== null && "all" in options;
    if (wantsAll && options.all) done(null, addresses);
    else done(null, first?.address, first?.family);
  };
  return markChecked(Object.assign(answer, { __promisify__: lookup.__promisify__ }));
}
