import type { Socket as DatagramSocket } from "node:dgram";
import { once } from "node:events";
import { type Server, type Socket, createServer } from "node:net";
import type { Allowance } from "./allowance.ts";
import { connected, secured } from "./connect.ts";
import { Domains } from "./domains.ts";
import { Failures } from "./failures.ts";
import { Intake, IntakeBudget } from "./intake.ts";
import { join } from "./join.ts";
import { Resolver } from "./resolver.ts";
import { Refusal, refusalOf } from "./refusal.ts";
import { type SocksTarget, accept, readPreface, readTarget, refuse } from "./socks.ts";
import { Targets } from "./targets.ts";
import { type Upstream, Upstreams, upstreamOf } from "./upstreams.ts";
import { tellRefusal } from "./told-refusal.ts";

/** A way by which connections leave in place of straight to their targets: an exit of the managed proxy. */
export interface WayOut {
  /** A connection to a target that may be reached. Rejects with a `Refusal` when there is none, or `signal` ends first. */
  connect(target: SocksTarget, signal: AbortSignal): Promise<Socket>;
}

/** The way out, until it is another. */
interface Route {
  /** Null: straight to the target. */
  way: WayOut | null;
  /** Aborted once connections leave by another way. */
  over: AbortController;
}

/** A browser's own patience with a proxy ends a little later. */
const CONNECT_MS = 25_000;
/** More than a browser opens: 32 to each proxy, and its WebSockets. */
export const MAX_CONNECTIONS = 512;
const FULL = "This browser has too many connections open.";
const OUTSIDE = "This host is not among the allowed domains of this session.";
/** Stands for the host of a connection to a customer's proxy: never among allowed domains. */
const BEYOND = "";
const NO_PROXIES =
  "this session has allowed domains, and what lies beyond a proxy cannot be kept to them.";

/** Where a connection of a client leads, and by which way. */
interface Led {
  origin: Socket;
  route: Route;
  host: string;
}

/**
 * The only way out of a slot, for its browser and for Playwright: a SOCKS proxy. It resolves names itself and connects to
 * exactly the addresses that it checked. What a browser sends arrives byte for byte, and so does what it is answered. Until
 * `open` the forwarder refuses everything: a warm browser reaches nobody.
 */
export class Forwarder {
  /** Why targets were not reached. */
  readonly failures = new Failures();
  /** The proxies that customers gave contexts. */
  readonly upstreams = new Upstreams();
  readonly #domains = new Domains();
  readonly #targets: Targets;
  readonly #servers: Server[] = [];
  /** The connections, with the host that each leads to; null: to none yet. */
  readonly #clients = new Map<Socket, string | null>();
  /** The connections that hear of a refusal when they say their first word. */
  readonly #refused = new Set<Socket>();
  readonly #intakes = new IntakeBudget();
  #route: Route = { way: null, over: new AbortController() };
  #resolver: Resolver | null = null;
  #isClosed = false;

  constructor(allowance: Allowance) {
    this.#targets = new Targets(allowance, this.#domains);
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

  /** Answers questions for names that come to a socket in the network of the slot, until they are too many. */
  resolve(socket: DatagramSocket, onFlood: () => void): void {
    const lookup = (name: string) => this.#targets.publicAddressesOf(name);
    this.#resolver = new Resolver(socket, lookup, onFlood);
    if (this.#isClosed) this.#resolver.close();
  }

  /**
   * From now on only these domains and the names below them are reached, or every host when there are none. Connections
   * that lead elsewhere are closed before this returns; those on their way there are refused. Refused ones are closed, too: a
   * browser keeps some for later, when their host may be allowed.
   */
  confine(names: readonly string[]): void {
    this.#domains.replace(names);
    for (const [client, host] of this.#clients)
      if (host !== null && !this.#domains.has(host)) client.destroy();
    for (const client of this.#refused) client.destroy();
  }

  /**
   * From now on connections leave by this way alone, or straight to their targets where there is none. Those that left
   * by the way before are closed before this returns, as are those on their way, and refused ones.
   */
  leaveBy(way: WayOut | null): void {
    this.#route.over.abort();
    this.#route = { way, over: new AbortController() };
    for (const [client, host] of this.#clients) if (host !== null) client.destroy();
    for (const client of this.#refused) client.destroy();
  }

  /** From now on public addresses, and the exact pairs of SVC_EGRESS_ALLOW, are reached. */
  open(): void {
    this.#targets.open();
  }

  close(): void {
    this.#isClosed = true;
    this.#targets.close();
    this.#resolver?.close();
    for (const server of this.#servers) server.close();
    for (const client of this.#clients.keys()) client.destroy();
  }

  async #take(client: Socket): Promise<void> {
    // Refusals are told, and who does not listen to them is cut.
    if (this.#clients.size >= 2 * MAX_CONNECTIONS) {
      client.destroy();
      return;
    }
    this.#clients.set(client, null);
    const leaving = new AbortController();
    client.once("close", () => {
      this.#clients.delete(client);
      this.#refused.delete(client);
      leaving.abort();
    });
    client.on("error", () => client.destroy());
    client.setNoDelay(true);
    const { signal } = leaving;
    const late = setTimeout(() => leaving.abort(), CONNECT_MS);
    try {
      const upstream = await this.#upstreamOf(client, signal);
      if (upstream) await this.#relay(client, upstream, signal);
      else await this.#forward(client, await readTarget(client, signal), signal);
    } catch {
      // The client left, speaks something else or is slow: nobody waits for an answer.
      client.destroy();
    } finally {
      clearTimeout(late);
    }
  }

  /** The customer's proxy that a connection is for, if there is one. */
  async #upstreamOf(client: Socket, signal: AbortSignal): Promise<Upstream | null> {
    const known = this.upstreams.at(client.localAddress);
    if (known) return known;
    const url = await readPreface(client, signal);
    return url === null ? null : upstreamOf(url);
  }

  /** Leads a connection to a customer's proxy, by the rules for every target: the two speak with each other. */
  async #relay(client: Socket, upstream: Upstream, signal: AbortSignal): Promise<void> {
    try {
      this.#admit(BEYOND, NO_PROXIES);
      const route = this.#route;
      const origin = await this.#connect(route, upstream, signal, upstream.isTls);
      this.#lead(client, { origin, route, host: BEYOND }, NO_PROXIES);
      join(client, origin);
    } catch (error) {
      const { message } = refusalOf(error);
      if (!client.destroyed) this.#refused.add(client);
      await tellRefusal(client, `The proxy of this context is not reached: ${message}`, signal);
    }
  }

  #admit(host: string, reason: string): void {
    if (!this.#domains.has(host)) throw new Refusal("ERR_BLOCKED_BY_ADMINISTRATOR", reason);
  }

  /** Notes where a connection leads from now on, unless the host is not allowed any more, or the way there is another. */
  #lead(client: Socket, { origin, route, host }: Led, reason: string): void {
    try {
      if (route.over.signal.aborted) throw new Refusal("ERR_NETWORK_CHANGED");
      this.#admit(host, reason);
    } catch (error) {
      origin.on("error", () => {});
      origin.destroy();
      throw error;
    }
    this.#clients.set(client, host);
  }

  async #connect(
    { way, over }: Route,
    target: SocksTarget,
    signal: AbortSignal,
    isTls = false,
  ): Promise<Socket> {
    if (this.#clients.size > MAX_CONNECTIONS) throw new Refusal("ERR_INSUFFICIENT_RESOURCES", FULL);
    const { host, port } = target;
    const until = AbortSignal.any([signal, over.signal]);
    try {
      const addresses = await this.#targets.reach(host, port);
      // The talk with a proxy, and TLS, read bit by bit: an intake would take their bytes.
      const intake = way || isTls ? null : new Intake(this.#intakes);
      const reaching = way ? way.connect(target, until) : connected(addresses, port, until, intake);
      return isTls ? await secured(await reaching, host, until) : await reaching;
    } catch (error) {
      throw over.signal.aborted ? new Refusal("ERR_NETWORK_CHANGED") : error;
    }
  }

  async #forward(client: Socket, target: SocksTarget, signal: AbortSignal): Promise<void> {
    const { host, port } = target;
    try {
      this.#admit(host, OUTSIDE);
      const route = this.#route;
      const origin = await this.#connect(route, target, signal);
      this.#lead(client, { origin, route, host }, OUTSIDE);
      this.failures.forget(host, port);
      accept(client);
      join(client, origin);
    } catch (error) {
      const refusal = refusalOf(error);
      this.failures.note(host, port, refusal);
      if (refusal.reason !== null) {
        if (!client.destroyed) this.#refused.add(client);
        accept(client);
        await tellRefusal(client, refusal.reason, signal);
      } else {
        refuse(client, refusal.netError);
        client.end();
      }
    }
  }
}
