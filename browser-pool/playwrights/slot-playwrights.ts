import type { WireVersion } from "@svc/contract/browser/wire-versions.ts";
import type { CdpMux } from "../cdp/mux.ts";
import type { CdpPipe } from "../cdp/pipe.ts";
import type { StoredState } from "../profile.ts";
import type { CustomerSocket } from "../sockets.ts";
import { type Arrival, type Watch, handoverOf } from "./clients.ts";
import { PlaywrightGone, WireHost } from "./host.ts";
import type { Playwrights } from "./playwrights.ts";
import { UnknownPlaywright } from "./served.ts";

interface Attached {
  host: WireHost;
  /** Under which it answers customers. */
  path: string;
}

/** The Playwrights attached to one browser: each minor when it is first wanted, and once. */
export class WireHosts {
  readonly #playwrights: Playwrights;
  readonly #key: string;
  readonly #mux: CdpMux;
  readonly #pipe: CdpPipe;
  readonly #hosts = new Map<WireVersion, Promise<Attached>>();
  readonly #connected = new Set<WireHost>();

  /** `key`: the slot's, among what it shares with Playwrights. */
  constructor(playwrights: Playwrights, key: string, mux: CdpMux, pipe: CdpPipe) {
    this.#playwrights = playwrights;
    this.#key = key;
    this.#mux = mux;
    this.#pipe = pipe;
  }

  /** Attaches a minor. Those who ask while it is being attached wait for the same one. */
  async at(version: WireVersion): Promise<void> {
    await this.#attached(version);
  }

  /** Hands a customer's socket over to a minor. */
  async open(version: WireVersion, arrival: Arrival, watch: Watch): Promise<CustomerSocket> {
    const { host, path } = await this.#living(version);
    const { id, client } = host.clients.add(watch);
    const handover = handoverOf(this.#key, id, path, arrival);
    await this.#playwrights.give(version, handover, arrival.socket);
    return client;
  }

  /** Gives the default context a stored state, by the newest minor. */
  async seed(state: StoredState): Promise<void> {
    const { host } = await this.#attached(this.#newest());
    await host.seed(state);
  }

  /** Attaches the newest minor that can be confined: most clients are of it, and none waits for it then. */
  async warm(): Promise<void> {
    for (;;) {
      const newest = this.#newest();
      try {
        await this.#attached(newest);
        return;
      } catch (error) {
        if (this.#playwrights.served.newest === newest) throw error;
      }
    }
  }

  /** One that has just died is not known to be dead: then the next one. */
  async #living(version: WireVersion): Promise<Attached> {
    const attached = await this.#attached(version);
    const isAlive = await attached.host.ping().then(
      () => true,
      () => false,
    );
    if (isAlive) return attached;
    await attached.host.ended;
    return this.#attached(version);
  }

  #newest(): WireVersion {
    const { newest } = this.#playwrights.served;
    if (!newest) throw new UnknownPlaywright();
    return newest;
  }

  #attached(version: WireVersion): Promise<Attached> {
    const known = this.#hosts.get(version);
    if (known) return known;
    const attached = this.#attach(version);
    this.#hosts.set(version, attached);
    const forget = (): void => void this.#hosts.delete(version);
    attached.then(({ host }) => host.ended.then(forget), forget);
    return attached;
  }

  #isUnwatched(host: WireHost): boolean {
    if (host.clients.size > 0) return false;
    const others = [...this.#connected].filter((one) => one.clients.size > 0);
    return others.length > 0 || this.#mux.clientCount > this.#connected.size;
  }

  async #attach(version: WireVersion, tries = 2): Promise<Attached> {
    const socket = await this.#playwrights.connect(version);
    const isUnwatched = (): boolean => this.#isUnwatched(host);
    const host: WireHost = new WireHost(socket, this.#mux, this.#pipe, isUnwatched);
    this.#connected.add(host);
    void host.ended.then(() => this.#connected.delete(host));
    try {
      return { host, path: await host.attach(this.#key) };
    } catch (error) {
      // It was dying when it took the connection.
      if (error instanceof PlaywrightGone && tries > 1) return this.#attach(version, tries - 1);
      if (error instanceof UnknownPlaywright) this.#playwrights.served.refuse(version);
      throw error;
    }
  }
}
