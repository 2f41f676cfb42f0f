import { type Browser, type Page, chromium } from "playwright-core";
import type { Customer, SessionAsk } from "../service/customer.ts";
import type { LonePool } from "./lone-pool.ts";

const CONNECT_MS = 30_000;

/** Names of contestants, as the tables show them. */
export const NAMES = {
  gatewayWs: "ours /ws",
  gatewayCdp: "ours /cdp",
  poolWs: "pool /ws",
  poolCdp: "pool /cdp",
  runServer: "run-server",
} as const;
export type Name = (typeof NAMES)[keyof typeof NAMES];

/** A browser that was asked for, and how it is used and given back. */
export interface Opened {
  connect(): Promise<Browser>;
  firstPage(browser: Browser): Promise<Page>;
  /** Resolves when the release is acknowledged. */
  release(browser: Browser): Promise<void>;
}
export interface Contestant<Who extends string = Name> {
  name: Who;
  open(): Promise<Opened>;
}

const ENDPOINTS = { ws: "wsEndpoint", cdp: "cdpEndpoint" } as const;
type Endpoint = keyof typeof ENDPOINTS;

function connectTo(kind: Endpoint, url: string, headers: Record<string, string> = {}) {
  const options = { headers, timeout: CONNECT_MS };
  return kind === "ws" ? chromium.connect(url, options) : chromium.connectOverCDP(url, options);
}

function pageOfSession(browser: Browser): Promise<Page> {
  const page = browser.contexts()[0]?.pages()[0];
  return page ? Promise.resolve(page) : Promise.reject(new Error("the session has no page"));
}

/** A customer of the gateway. `ask`: of each create. */
export function throughGateway<Who extends string>(
  name: Who,
  customer: Customer,
  kind: Endpoint,
  ask: SessionAsk = {},
): Contestant<Who> {
  return {
    name,
    async open() {
      const session = await customer.create(ask);
      return {
        connect: () => connectTo(kind, session[ENDPOINTS[kind]]),
        firstPage: pageOfSession,
        release: () => customer.release(session.sessionId),
      };
    },
  };
}

/** The pool without the gateway. */
export function straightToPool(name: Name, pool: LonePool, kind: Endpoint): Contestant {
  return {
    name,
    async open() {
      const id = await pool.place();
      return {
        connect: async () => connectTo(kind, pool.endpoint(kind, id), await pool.headers(id)),
        firstPage: pageOfSession,
        release: () => pool.release(id),
      };
    },
  };
}

/** The peer launches a browser for each connection, so that there is nothing to create before. */
export function byRunServer(url: string): Contestant {
  return {
    name: NAMES.runServer,
    open: () =>
      Promise.resolve({
        connect: () => connectTo("ws", url),
        firstPage: (browser) => browser.newPage(),
        release: (browser) => browser.close(),
      }),
  };
}
