import { AsyncLocalStorage } from "node:async_hooks";
import { isObject } from "../cdp/envelope.ts";
import type { SocketEnd } from "../customer-sockets.ts";
import { UnknownPlaywright } from "../playwrights/served-versions.ts";
import { implOf, insideOf } from "./confinement.ts";
import type { Customer } from "./customer.ts";
import type { PlaywrightBrowser } from "./packages.ts";

/**
 * Which client made which browser context. A context goes with its client, as on a browser that Playwright has launched
 * for it; the default context stays. A client whose connection broke may come back to its tabs: its contexts go to the
 * next client.
 */
export class ClientContexts {
  readonly #browser: PlaywrightBrowser;
  readonly #caller = new AsyncLocalStorage<Customer>();
  /** Playwright's own objects of contexts, by the client that made them. */
  readonly #made = new Map<Customer, Set<unknown>>();
  /** Contexts whose client has dropped. */
  #orphans = new Set<unknown>();
  #leaving: Promise<unknown> = Promise.resolve();

  /** Reaches into Playwright's insides, hence exact versions; throws `UnknownPlaywright` when they are not there. */
  constructor(browser: PlaywrightBrowser) {
    this.#browser = browser;
    const inside = insideOf(browser);
    const { newContext } = inside;
    if (typeof newContext !== "function") throw new UnknownPlaywright();
    inside.newContext = async (...args: unknown[]): Promise<unknown> => {
      const context: unknown = await newContext.apply(inside, args);
      this.#note(context);
      return context;
    };
  }

  /** Runs `start`, and whatever follows from the bytes of its socket, as calls of a client. */
  as(customer: Customer, start: () => void): void {
    customer.inside((work) => this.#caller.run(customer, work));
    this.#caller.run(customer, start);
  }

  /** Gives a client what those who dropped have left. */
  adopt(customer: Customer): void {
    this.#made.set(customer, this.#orphans);
    this.#orphans = new Set();
  }

  /** A client has gone. */
  left(customer: Customer, end: SocketEnd): void {
    const made = this.#made.get(customer) ?? new Set();
    this.#made.delete(customer);
    if (end === "dropped") for (const context of made) this.#orphans.add(context);
    else this.#leaving = Promise.all([this.#leaving, this.#close(made)]);
  }

  /** Resolves once the contexts of all clients that have gone are closed. */
  async settled(): Promise<void> {
    await this.#leaving;
  }

  #note(context: unknown): void {
    const customer = this.#caller.getStore();
    const made = customer && this.#made.get(customer);
    // The client has gone while its context was made.
    if (customer && !made)
      this.#leaving = Promise.all([this.#leaving, this.#close(new Set([context]))]);
    if (!made || !isObject(context) || typeof context.on !== "function") return;
    made.add(context);
    context.on("close", () => this.#forget(context));
  }

  #forget(context: unknown): void {
    this.#orphans.delete(context);
    for (const made of this.#made.values()) made.delete(context);
  }

  async #close(made: ReadonlySet<unknown>): Promise<void> {
    const contexts = this.#browser
      .contexts()
      .filter((context) => made.has(implOf(this.#browser, context)));
    const closed = await Promise.allSettled(contexts.map((context) => context.close()));
    for (const one of closed) if (one.status === "rejected") console.error(one.reason);
  }
}
