import { type LookupAddress, lookup, promises as dns } from "node:dns";
import { Agent } from "node:http";
import { type Server, type Socket, createServer, isIP } from "node:net";
import { isForbiddenAddress } from "@svc/host-kit/egress/forbidden.ts";
import { RequestError, Server as ProxyServer } from "proxy-chain";
import type { Allowance } from "./allowance.ts";

/**
 * The only way out of a slot: a forward proxy on unix sockets, for its browser and for Playwright. The proxy resolves names
 * itself and connects to exactly the addresses that it checked. Until `open` it refuses everything: a warm browser
 * reaches nobody.
 */
export class Forwarder {
  readonly #allowance: Allowance;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #proxy: ProxyServer;
  readonly #doors: Server[] = [];
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

  async listen(...paths: string[]): Promise<void> {
    for (const path of paths) {
      const door = createServer((socket) => this.#proxy.server.emit("connection", socket));
      this.#doors.push(door);
      await new Promise<void>((resolve, reject) => {
        door.once("error", reject);
        door.listen(path, () => resolve());
      });
    }
  }

  /** From now on public addresses, and the exact pairs of SVC_EGRESS_ALLOW, are reached. */
  open(): void {
    this.#isOpen = true;
  }

  close(): void {
    this.#isOpen = false;
    this.#agent.destroy();
    for (const door of this.#doors) door.close();
    this.#proxy.closeConnections();
  }

  async #resolve(hostname: string, port: number): Promise<LookupAddress[]> {
    if (!this.#isOpen) throw new RequestError("This browser has no session yet.", 403);
    const host = hostname.replace(/^\[|\]$/g, "");
    const found = await addressesOf(host);
    const good = found.filter(
      ({ address }) => !isForbiddenAddress(address) || this.#allowance.has(address, port),
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
  return Object.assign(answer, { __promisify__: lookup.__promisify__ });
}
