import { isObject } from "../cdp/envelope.ts";
import { UnknownPlaywright } from "../wire/served.ts";
import type { PlaywrightBrowser } from "./packages.ts";

/**
 * Playwright takes its clients for the user of this machine: it would read and write any file they name that
 * this process may. Told that it is a server it keeps to `artifactsDir`. API requests leave through `proxy`, as
 * the browser's do. Reaches into Playwright's insides, hence exact versions, and refuses to serve when it does
 * not find them.
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

/** Takes from clients what opens and closes their own endpoint. Playwright itself closes it with the browser. */
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

function insideOf(browser: PlaywrightBrowser): Record<string, unknown> {
  const connection: unknown = Reflect.get(browser, "_connection");
  const toImpl = isObject(connection) ? connection.toImpl : null;
  const inside: unknown = typeof toImpl === "function" ? toImpl(browser) : null;
  if (!isObject(inside)) throw new UnknownPlaywright();
  return inside;
}
