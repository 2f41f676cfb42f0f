import { AsyncLocalStorage } from "node:async_hooks";
import { isObject } from "../cdp/envelope.ts";
import type { SocketEnd } from "../customer-sockets.ts";
import { UnknownPlaywright } from "../playwrights/served-versions.ts";
import { insideOf } from "./confinement.ts";
import type { Customer } from "./customer.ts";
import type { PlaywrightBrowser } from "./packages.ts";

/** Playwright's own object of a browser context. */
interface Context {
  close(progress: object, options: { reason: string }): Promise<void>;
  on(event: "close", heard: () => void): void;
}

/** What Playwright hands its own calls: here nothing aborts them. */
const PROGRESS = {
  race: (work: Promise<unknown> | Promise<unknown>[]): Promise<unknown> =>
    Array.isArray(work) ? Promise.race(work) : work,
};

/** Whose bytes have caused what runs now. */
const caller = new AsyncLocalStorage<Customer>();

/** The customer whose bytes have caused what runs now; undefined for what the pool does itself. */
export function callingCustomer(): Customer | undefined {
  return caller.getStore();
}

/**
 * Which client made which browser context. A context goes with its client, as on a browser that Playwright has launched
 * for it; the default context stays. A client whose connection broke may come back to its tabs: its contexts go to the
 * next client.
 */
export class ClientContexts {
  readonly #made = new Map<Customer, Set<Context>>();
  /** Contexts whose client has dropped. */
  #orphans = new Set<Context>();
  readonly #closing = new Set<Promise<void>>();

  /** Reaches into Playwright's insides, hence exact versions; throws `UnknownPlaywright` when they are not there. */
  constructor(browser: PlaywrightBrowser) {
    const inside = insideOf(browser);
    // The innermost call: a context is there although the call around it was given up.
    const { doCreateNewContext } = inside;
    if (typeof doCreateNewContext !== "function") throw new UnknownPlaywright();
    inside.doCreateNewContext = async (...args: unknown[]): Promise<unknown> => {
      const customer = callingCustomer();
      const context: unknown = await doCreateNewContext.apply(inside, args);
      if (!isContext(context)) throw new UnknownPlaywright();
      if (customer) this.#note(customer, context);
      return context;
    };
  }

  /** Begins to serve a client: what its bytes cause counts as its doing. It takes over what those who dropped have left. */
  serve(customer: Customer, start: () => void): void {
    this.#made.set(customer, this.#orphans);
    this.#orphans = new Set();
    customer.inside((work) => caller.run(customer, work));
    caller.run(customer, start);
  }

  /** A client has gone. */
  left(customer: Customer, end: SocketEnd): void {
    const made = this.#made.get(customer);
    if (!made) return;
    this.#made.delete(customer);
    for (const context of made)
      if (end === "dropped") this.#orphans.add(context);
      else this.#close(context);
  }

  /** Resolves once the contexts of all clients that have gone are closed. */
  async settled(): Promise<void> {
    await Promise.all(this.#closing);
  }

  #note(customer: Customer, context: Context): void {
    const made = this.#made.get(customer);
    if (!made) {
      this.#close(context);
      return;
    }
    made.add(context);
    context.on("close", () => this.#forget(context));
  }

  #forget(context: Context): void {
    this.#orphans.delete(context);
    for (const made of this.#made.values()) made.delete(context);
  }

  #close(context: Context): void {
    const closing = context
      .close(PROGRESS, { reason: "Its client has gone." })
      // A browser that is gone has no contexts; all else is for the log.
      .catch((error: unknown) => console.error(error))
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }
}

function isContext(value: unknown): value is Context {
  return isObject(value) && typeof value.close === "function" && typeof value.on === "function";
}
