import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { isForbiddenAddress } from "@svc/host-kit/egress/forbidden.ts";
import { isMailPort } from "@svc/host-kit/egress/mail-ports.ts";
import type { Allowance } from "./allowance.ts";
import type { Domains } from "./domains.ts";
import { Refusal } from "./refusal.ts";

const KEPT_MS = 30_000;
const KEPT_NAMES = 256;

export const PRIVATE = "This address is private and not reachable from here.";
const MAIL = "Mail ports (25, 465, 587) are closed from here.";
const EARLY = "This browser has no session yet.";

/** Decides which addresses a slot reaches. Until `open` none. */
export class Targets {
  readonly #allowance: Allowance;
  readonly #domains: Domains;
  readonly #names = new Map<string, { addresses: LookupAddress[]; until: number }>();
  #isOpen = false;

  constructor(allowance: Allowance, domains: Domains) {
    this.#allowance = allowance;
    this.#domains = domains;
  }

  open(): void {
    this.#isOpen = true;
  }

  close(): void {
    this.#isOpen = false;
  }

  /** The addresses of a host that may be connected to, and no others. Throws a `Refusal` when there are none. */
  async reach(hostname: string, port: number): Promise<LookupAddress[]> {
    if (!this.#isOpen) throw new Refusal("ERR_BLOCKED_BY_ADMINISTRATOR", EARLY);
    const found = await this.#lookUp(hostname.replace(/^\[|\]$/g, ""));
    const allowed = found.filter(({ address }) => this.#allowance.has(address, port));
    if (isMailPort(port) && allowed.length === 0)
      throw new Refusal("ERR_BLOCKED_BY_ADMINISTRATOR", MAIL);
    if (isMailPort(port)) return allowed;
    const good = found.filter((one) => !isForbiddenAddress(one.address) || allowed.includes(one));
    if (good.length === 0) throw new Refusal("ERR_BLOCKED_BY_ADMINISTRATOR", PRIVATE);
    return good;
  }

  /** The public addresses of a name; null when the session may not know the name, or nobody does. */
  async publicAddressesOf(name: string): Promise<LookupAddress[] | null> {
    if (!this.#isOpen || !this.#domains.has(name)) return null;
    const found = await this.#lookUp(name).catch(() => null);
    return found && found.filter(({ address }) => !isForbiddenAddress(address));
  }

  async #lookUp(host: string): Promise<LookupAddress[]> {
    const family = isIP(host);
    if (family > 0) return [{ address: host, family }];
    const kept = this.#names.get(host);
    if (kept && kept.until > performance.now()) return kept.addresses;
    const addresses = await lookup(host, { all: true }).catch(() => []);
    if (addresses.length === 0) throw new Refusal("ERR_NAME_NOT_RESOLVED");
    this.#keep(host, addresses);
    return addresses;
  }

  // As long as a browser keeps them, roughly. Every use is checked again.
  #keep(host: string, addresses: LookupAddress[]): void {
    this.#names.delete(host);
    this.#names.set(host, { addresses, until: performance.now() + KEPT_MS });
    const [oldest] = this.#names.keys();
    if (this.#names.size > KEPT_NAMES && oldest !== undefined) this.#names.delete(oldest);
  }
}
