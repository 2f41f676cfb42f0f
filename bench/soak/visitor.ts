import { messageOf } from "@svc/host-kit/log.ts";
import { setTimeout as pause } from "node:timers/promises";
import type { SessionCreated } from "@svc/contract/browser/session.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { type Browser, chromium } from "playwright-core";
import { type Customer, Refused, type SessionAsk } from "../service/customer.ts";
import { type Random, pickWeighted } from "./random.ts";
import { visitAndVanish } from "./raw-client.ts";
import { RULES, byName, replaceRules } from "./rules.ts";
import type { SoakRecord } from "./record.ts";

const CONNECT_MS = 20_000;
const PAGE_MS = 20_000;
const RETRY_MS = 500;
/** How long a client goes on asking while the service is away. */
const PATIENCE_MS = 120_000;
const AT_CAP = 429;
const LEASE_SECONDS = 5;
/** How often a client comes back, and the longest pause before: well within the linger, around the time in which a pool merges news. */
const COMES = 3;
const MOST_APART_MS = 700;
const LOOK_MS = 20;

/** How a session ends, with its chance. */
const ENDS = { delete: 40, close: 20, reconnect: 20, drop: 20 } as const;

export interface VisitorOptions {
  customer: Customer;
  siteUrl: string;
  record: SoakRecord;
  orphans: number;
  /** Whether every second session is of kind stealth; otherwise all are fast. */
  isMixed: boolean;
  recording: boolean;
  /** Whether every session has network rules, which are replaced while it runs. */
  hasRules: boolean;
}

/** Customers that come one after the other, each with one session. */
export class Visitor {
  readonly #customer: Customer;
  readonly #siteUrl: string;
  readonly #record: SoakRecord;
  readonly #mostOrphans: number;
  readonly #isMixed: boolean;
  readonly #recording: boolean;
  readonly #hasRules: boolean;
  #visits = 0;
  #orphans: number[] = [];

  /** `orphans`: how many may vanish without a lease at the same time; each holds its browser for minutes. */
  constructor({
    customer,
    siteUrl,
    record,
    orphans,
    isMixed,
    hasRules,
    recording,
  }: VisitorOptions) {
    this.#recording = recording;
    this.#isMixed = isMixed;
    this.#hasRules = hasRules;
    this.#customer = customer;
    this.#siteUrl = hasRules ? byName(siteUrl) : siteUrl;
    this.#mostOrphans = orphans;
    this.#record = record;
  }

  /** One session: create, connect, drive a little, and end it in one of the ways. */
  async visit(random: Random): Promise<void> {
    const end = pickWeighted(random, ENDS);
    const endpoint = pickWeighted(random, { wsEndpoint: 1, cdpEndpoint: 1 });
    const isOrphan = end === "drop" && this.#mayOrphan();
    const hasLease = end === "drop" && !isOrphan;
    this.#visits += 1;
    const stealth = this.#isMixed && this.#visits % 2 === 0;
    const lease = hasLease ? { lease: { idleSeconds: LEASE_SECONDS } } : {};
    const rules = this.#hasRules && RULES;
    const session = await this.#create({ stealth, recording: this.#recording, ...lease, ...rules });
    if (!session) return;
    this.#record.created.push(session.sessionId);
    const from = performance.now();
    try {
      if (this.#hasRules) await replaceRules(this.#customer, session);
      if (end === "drop") await visitAndVanish(session.cdpEndpoint, this.#siteUrl);
      else if (end === "reconnect") await this.#comeAndGo(session[endpoint], random);
      else await this.#drive(session[endpoint], end);
      this.#record.count(`ended by ${end}${isOrphan ? " (orphan)" : ""}`);
    } catch (error) {
      this.#record.failed("driving", from, error);
      await this.#release(session.sessionId);
      return;
    }
    if (end === "delete") await this.#releaseAndRead(session.sessionId);
  }

  #mayOrphan(): boolean {
    const now = performance.now();
    this.#orphans = this.#orphans.filter((since) => now - since < LIMITS.orphanGraceMs);
    if (this.#orphans.length >= this.#mostOrphans) return false;
    this.#orphans.push(now);
    return true;
  }

  /** Asks until it gets one. What is refused under a kill is counted; anything else is an anomaly. */
  async #create(ask: SessionAsk): Promise<SessionCreated | null> {
    const deadline = performance.now() + PATIENCE_MS;
    while (performance.now() < deadline) {
      const from = performance.now();
      try {
        return await this.#customer.create(ask);
      } catch (error) {
        if (error instanceof Refused && error.status === AT_CAP) this.#record.count("at cap");
        else this.#record.failed("create", from, error);
      }
      await pause(RETRY_MS);
    }
    this.#record.anomaly(`no session in ${PATIENCE_MS / 1000} s`);
    return null;
  }

  /** Connects again and again, each time with a context of its own, and finds none of those before. */
  async #comeAndGo(endpoint: string, random: Random): Promise<void> {
    let leftAt = performance.now();
    for (let come = 0; come < COMES; come += 1) {
      if (come > 0) await pause(Math.floor(random() * MOST_APART_MS));
      const backMs = Math.round(performance.now() - leftAt);
      const browser = await connect(endpoint).catch((error: unknown) => {
        const tookMs = Math.round(performance.now() - leftAt);
        throw new Error(
          `visit ${come}, begun ${backMs} ms after the one before and failed ${tookMs} ms after it: ${messageOf(error)}`,
        );
      });
      try {
        await within(alone(browser));
        await within(browser.newContext().then((context) => context.newPage()));
      } finally {
        await within(browser.close()).catch(() => undefined);
        leftAt = performance.now();
      }
    }
  }

  async #drive(endpoint: string, end: "delete" | "close"): Promise<void> {
    const browser = await connect(endpoint);
    let closesHere = end === "close";
    try {
      const page = browser.contexts()[0]?.pages()[0];
      if (!page) throw new Error("the session has no page");
      await page.goto(this.#siteUrl, { waitUntil: "load", timeout: PAGE_MS });
      const answer = await within(page.evaluate(() => 1 + 1));
      if (answer !== 2) throw new Error("a wrong answer");
    } catch (error) {
      closesHere = true;
      throw error;
    } finally {
      if (closesHere) await within(browser.close()).catch(() => undefined);
    }
  }

  async #releaseAndRead(id: string): Promise<void> {
    if (!(await this.#release(id))) return;
    const from = performance.now();
    try {
      const { status } = await this.#customer.read(id);
      if (status !== "released") throw new Error(`${status} after its release`);
    } catch (error) {
      this.#record.failed("read", from, error);
    }
  }

  async #release(id: string): Promise<boolean> {
    const deadline = performance.now() + PATIENCE_MS;
    while (performance.now() < deadline) {
      const from = performance.now();
      try {
        await this.#customer.release(id);
        return true;
      } catch (error) {
        this.#record.failed("release", from, error);
      }
      await pause(RETRY_MS);
    }
    return false;
  }
}

/** Resolves once a client sees the default context alone: what the one before it has left goes a moment after its goodbye. */
async function alone(browser: Browser): Promise<void> {
  while (browser.isConnected() && browser.contexts().length !== 1) await pause(LOOK_MS);
}

function connect(endpoint: string): Promise<Browser> {
  const isWire = new URL(endpoint).pathname.startsWith("/ws/");
  const options = { timeout: CONNECT_MS };
  return isWire ? chromium.connect(endpoint, options) : chromium.connectOverCDP(endpoint, options);
}

/** Playwright gives some calls no limit of their own. */
async function within<T>(work: Promise<T>): Promise<T> {
  const stop = new AbortController();
  const late = pause(PAGE_MS, null, { signal: stop.signal }).then(() => {
    throw new Error("no answer");
  });
  // Aborted when the work was in time; nobody listens then.
  late.catch(() => undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    stop.abort();
  }
}
