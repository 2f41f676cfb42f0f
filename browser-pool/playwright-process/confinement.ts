import { isObject } from "../cdp/envelope.ts";
import { chainedProxyOf } from "../playwrights/folders.ts";
import { UnknownPlaywright } from "../playwrights/served-versions.ts";
import type { PlaywrightBrowser } from "./packages.ts";

/**
 * Makes Playwright serve strangers. By default Playwright takes its clients for the user of this computer and reads and writes any
 * file they name; as a server it keeps to `artifactsDir`. API requests leave through `proxy`, as the browser's do. Reaches
 * into Playwright's insides, hence exact versions; throws `UnknownPlaywright` when they are not there.
 */
export function confine(browser: PlaywrightBrowser, proxy: string): void {
  const inside = insideOf(browser);
  const { attribution } = inside;
  const playwright = isObject(attribution) ? attribution.playwright : null;
  const options = isObject(playwright) ? playwright.options : null;
  if (!isObject(options) || !("isClientCollocatedWithServer" in options))
    throw new UnknownPlaywright();
  options.isServer = true;
  options.isClientCollocatedWithServer = false;
  if (!isObject(inside.options)) throw new UnknownPlaywright();
  inside.options.proxy = { server: proxy };
}

/**
 * Leads contexts with a proxy of their own to that proxy by way of the forwarder of the slot with this key. What would
 * bypass the proxy would leave by no way at all: the bypass list counts for nothing.
 */
export function chainProxies(browser: PlaywrightBrowser, key: string): void {
  const inside = insideOf(browser);
  const { doCreateNewContext } = inside;
  if (typeof doCreateNewContext !== "function") throw new UnknownPlaywright();
  inside.doCreateNewContext = (...args: unknown[]): unknown => {
    for (const options of args) {
      const proxy = isObject(options) ? options.proxy : null;
      if (!isObject(proxy) || typeof proxy.server !== "string") continue;
      Object.assign(proxy, { server: chainedProxyOf(key, proxy.server), bypass: undefined });
    }
    return doCreateNewContext.apply(inside, args);
  };
}

/** Keeps clients from opening and closing endpoints. Playwright itself closes the endpoint with the browser. */
export function keepEndpoint(browser: PlaywrightBrowser): void {
  const inside = insideOf(browser);
  const { stopServer, isConnected } = inside;
  if (typeof stopServer !== "function" || typeof isConnected !== "function")
    throw new UnknownPlaywright();
  const refuse = (): Promise<never> => Promise.reject(new Error("Not allowed here."));
  inside.startServer = refuse;
  inside.stopServer = (...args: unknown[]) =>
    isConnected.call(inside) ? refuse() : stopServer.apply(inside, args);
}

/** Makes the default context count origins as visited: its `storageState()` reads the storage of those. */
export function noteOrigins(browser: PlaywrightBrowser, origins: string[]): void {
  const [context] = browser.contexts();
  const inside = context && implOf(browser, context);
  if (!isObject(inside) || typeof inside.addVisitedOrigin !== "function")
    throw new UnknownPlaywright();
  for (const origin of origins) inside.addVisitedOrigin(origin);
}

/** Playwright's own object behind its public `Browser`. */
export function insideOf(browser: PlaywrightBrowser): Record<string, unknown> {
  const inside = implOf(browser, browser);
  if (!isObject(inside)) throw new UnknownPlaywright();
  return inside;
}

/** Playwright's own object behind a public one of the same browser; null when there is none. */
function implOf(browser: PlaywrightBrowser, object: object): unknown {
  const connection: unknown = Reflect.get(browser, "_connection");
  const toImpl = isObject(connection) ? connection.toImpl : null;
  return typeof toImpl === "function" ? toImpl(object) : null;
}
