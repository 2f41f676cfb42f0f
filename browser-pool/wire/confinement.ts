import { mkdir } from "node:fs/promises";
import { isObject } from "../cdp/envelope.ts";
import type { PlaywrightBrowser } from "./playwrights.ts";

/** Sets Playwright up for a process that is a server, with a folder for what it writes down. */
export async function prepareWire(folder: string): Promise<void> {
  await mkdir(folder, { mode: 0o700 });
  // Every endpoint it opens: by default in the user's cache, for everyone to find.
  process.env.PWTEST_SERVER_REGISTRY = folder;
  // A client that asks for the recorder would open a window on this machine.
  process.env.PW_CODEGEN_NO_INSPECTOR = "1";
}

/** A Playwright whose insides are not where those of the confined ones are: it must not be served. */
export class UnknownPlaywright extends Error {
  constructor() {
    super("this Playwright is built otherwise than those that were confined");
  }
}

/**
 * Playwright inside this process takes its clients for the user of this machine: it would read and write
 * any file they name, as this process's user. Told that it is a server it keeps to `artifactsDir`. A client
 * may not open other ports either. Reaches into Playwright's insides, hence exact versions, and refuses to
 * serve when it does not find them.
 */
export function confine(browser: PlaywrightBrowser): void {
  const inside = insideOf(browser);
  const { attribution } = inside;
  const playwright = isObject(attribution) ? attribution.playwright : null;
  const options = isObject(playwright) ? playwright.options : null;
  if (!isObject(options) || !("isClientCollocatedWithServer" in options))
    throw new UnknownPlaywright();
  options.isServer = true;
  options.isClientCollocatedWithServer = false;
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
