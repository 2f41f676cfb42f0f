import { setTimeout as pause } from "node:timers/promises";
import { type Browser, type Page, chromium } from "playwright-core";
import type { Customer } from "../service/customer.ts";

const EVERY_MS = 20;
const GIVEN_UP_MS = 30_000;

/** A customer who drives a page all the time, over one endpoint. */
export class Victim {
  readonly #customer: Customer;
  readonly #sessionId: string;
  readonly #browser: Browser;
  readonly #page: Page;

  private constructor(customer: Customer, sessionId: string, browser: Browser, page: Page) {
    this.#customer = customer;
    this.#sessionId = sessionId;
    this.#browser = browser;
    this.#page = page;
  }

  static async start(customer: Customer, kind: "ws" | "cdp"): Promise<Victim> {
    const { sessionId, wsEndpoint, cdpEndpoint } = await customer.create();
    const browser = await (kind === "ws"
      ? chromium.connect(wsEndpoint)
      : chromium.connectOverCDP(cdpEndpoint));
    const page = browser.contexts()[0]?.pages()[0];
    if (!page) throw new Error("the session has no page");
    return new Victim(customer, sessionId, browser, page);
  }

  /**
   * Round trips of evaluates in ms, for so long. One begins every 20 ms whether the one before is back or not, so that a
   * service that stands still for a second counts as fifty slow ones, and not as one.
   */
  async roundTrips(forMs: number): Promise<number[]> {
    const trips: Promise<number>[] = [];
    const until = performance.now() + forMs;
    while (performance.now() < until) {
      trips.push(this.#trip());
      await pause(EVERY_MS);
    }
    return Promise.all(trips);
  }

  async stop(): Promise<void> {
    await this.#browser.close();
    await this.#customer.release(this.#sessionId);
  }

  async #trip(): Promise<number> {
    const began = performance.now();
    const lost = pause(GIVEN_UP_MS, null, { ref: false });
    const answer = this.#page.evaluate(() => 1).catch(() => null);
    const first = await Promise.race([answer, lost]);
    return first === null ? GIVEN_UP_MS : performance.now() - began;
  }
}
