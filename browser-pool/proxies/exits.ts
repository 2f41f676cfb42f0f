import { createHash, randomBytes } from "node:crypto";
import type { Socket } from "node:net";
import type { ProxyApplied } from "@svc/contract/browser/proxy.ts";
import {
  type ExitOffer,
  type ExitWish,
  type ServedExit,
  servedBy,
} from "@svc/contract/host-protocol/exits.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import type { WayOut } from "../egress/forwarder.ts";
import type { SocksTarget } from "../egress/socks.ts";
import { ExitRests } from "./exit-rests.ts";
import { type Place, placeOf } from "./places.ts";
import { type Provider, valuesFor, wordOf } from "./providers.ts";
import type { ExitValues, Template } from "./template.ts";
import { ProxyFault, openTunnel } from "./tunnel.ts";

const MINUTE_MS = 60_000;
/** A proxy that fails is written of no more often than this. */
const TOLD_MS = 10_000;

/** An exit of the managed proxy: the way out of one session. Whatever fails, nothing leaves by another way. */
export class Exit implements WayOut {
  readonly tier: ServedExit["tier"];
  readonly country: ServedExit["country"];
  readonly place: Place;
  readonly #template: Template;
  readonly #valuesAt: (ms: number) => ExitValues;
  readonly #log: Log;
  readonly #begun = performance.now();
  #toldAt = -TOLD_MS;

  /** `valuesAt`: what fills in the provider's URL so long after the exit was opened. */
  constructor(
    { tier, country, place }: ServedExit & { place: Place },
    template: Template,
    valuesAt: (ms: number) => ExitValues,
    log: Log,
  ) {
    this.tier = tier;
    this.country = country;
    this.place = place;
    this.#template = template;
    this.#valuesAt = valuesAt;
    this.#log = log;
  }

  /** The exit as the customer is told of it. */
  get applied(): ProxyApplied {
    return { tier: this.tier, country: this.country, timezoneId: this.place.timezone };
  }

  async connect(target: SocksTarget, signal: AbortSignal): Promise<Socket> {
    try {
      return await this.#tunnel(target, signal);
    } catch (error) {
      this.#tell(error);
      throw error;
    }
  }

  /** Makes one real connection. Rejects with the reason when that fails, or takes longer than `LIMITS.exitCheckMs`. */
  async prove(target: SocksTarget, caller: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([caller, AbortSignal.timeout(LIMITS.exitCheckMs)]);
    const socket = await this.#tunnel(target, signal);
    socket.destroy();
  }

  #tunnel(target: SocksTarget, signal: AbortSignal): Promise<Socket> {
    const proxy = this.#template.fill(this.#valuesAt(performance.now() - this.#begun));
    return openTunnel(proxy, target, signal);
  }

  // A browser that left, and a target that is not there, are no faults of the proxy.
  #tell(error: unknown): void {
    const now = performance.now();
    if (!(error instanceof ProxyFault) || now - this.#toldAt < TOLD_MS) return;
    this.#toldAt = now;
    const { tier, country } = this;
    this.#log.warn({ tier, country, reason: error.why }, "exit_failed");
  }
}

export interface ExitsOptions {
  providers: Provider[];
  /** The target that an exit must reach before a session leaves by it. */
  check: SocksTarget;
  log: Log;
}

/** The exits of the managed proxy that this pool is configured for. */
export class Exits {
  readonly offers: ExitOffer[];
  readonly #options: ExitsOptions;
  readonly #rests = new ExitRests();

  constructor(options: ExitsOptions) {
    this.#options = options;
    this.offers = options.providers.map(({ offer }) => offer);
  }

  /**
   * An exit for a session of an org that has proved that it works. Null when there is none: a session is placed all the
   * same, and leaves from this host.
   */
  async open(org: string, wish: ExitWish, caller: AbortSignal): Promise<Exit | null> {
    const { log, check } = this.#options;
    const exit = this.#exitFor(org, wish);
    if (typeof exit === "string") {
      log.info({ tier: wish.tier, country: wish.country, reason: exit }, "exit_not_served");
      return null;
    }
    const { tier, country } = exit;
    const key = keyOf(org, wish, exit);
    if (!this.#rests.mayTry(tier) || !this.#rests.mayTry(key)) {
      log.info({ tier, country }, "exit_rests");
      return null;
    }
    const begun = performance.now();
    try {
      await exit.prove(check, caller);
      for (const one of [tier, key]) this.#rests.proved(one);
      return exit;
    } catch (error) {
      if (caller.aborted) {
        for (const one of [tier, key]) this.#rests.left(one);
        return null;
      }
      const tookMs = performance.now() - begun;
      // A provider that is not reached at all serves no other country either.
      if (error instanceof ProxyFault && error.isOfProvider) this.#rests.failed(tier, tookMs);
      else this.#rests.failed(key, tookMs);
      const reason = error instanceof ProxyFault ? error.why : messageOf(error);
      log.warn({ tier, country, reason }, "exit_not_applied");
      return null;
    }
  }

  /** The exit that serves a wish, or why none does. */
  #exitFor(org: string, wish: ExitWish): Exit | string {
    const served = servedBy(this.offers, wish);
    const provider = this.#options.providers.find(({ offer }) => offer.tier === served?.tier);
    if (!served || !provider) return "no provider is configured for it";
    const { country } = served;
    const sessionAt = sessionOf(org, wish);
    const valuesAt = (ms: number) => valuesFor(wish, country, sessionAt(ms));
    if (valuesAt(0) === null) return "state, city or asn is not a word that a provider knows";
    const place = placeOf(country, wish.state && wordOf(wish.state));
    return new Exit(
      { ...served, place },
      provider.template,
      (ms) => valuesAt(ms) ?? {},
      this.#options.log,
    );
  }
}

/** The name of one exit, as its provider sees it. An address that a customer keeps is an exit of its own, and says nothing of others. */
function keyOf(org: string, wish: ExitWish, { tier, country }: ServedExit): string {
  const { state, city, asn, sticky } = wish;
  return JSON.stringify([tier, country, state, city, asn, sticky && [org, sticky.session]]);
}

/**
 * The name by which a provider keeps an address for a session. A name that the customer gave is the same on every pool, and
 * another org's is another. Once its minutes are over it is followed by the next.
 */
function sessionOf(org: string, { sticky }: ExitWish): (ms: number) => string {
  const own = randomBytes(8).toString("hex");
  return (ms) => {
    if (!sticky) return own;
    const turn = Math.floor(ms / (sticky.minutes * MINUTE_MS));
    const words = JSON.stringify([org, sticky.session, turn]);
    return createHash("sha256").update(words).digest("hex").slice(0, 16);
  };
}
