import { mkdir } from "node:fs/promises";
import type { Browser } from "playwright-core";
import { isObject } from "../cdp/envelope.ts";

/** Sets Playwright up for a process that is a server, with a folder for what it writes down. */
export async function prepareWire(folder: string): Promise<void> {
  await mkdir(folder, { mode: 0o700 });
  // Every endpoint it opens: by default in the user's cache, for everyone to find.
  process.env.PWTEST_SERVER_REGISTRY = folder;
  // A client that asks for the recorder would open a window on this machine.
  process.env.PW_CODEGEN_NO_INSPECTOR = "1";
}

const UNKNOWN = "this Playwright is built otherwise than the one that was confined";

/**
 * Playwright inside this process takes its clients for the user of this machine: it would read and write
 * any file they name, as this process's user. Told that it is a server it keeps to `artifactsDir`. A client
 * may not open other ports either. Reaches into Playwright's insides, hence the exact version, and refuses
 * to serve when it does not find them.
 */
export function confine(browser: Browser): void {
  const inside = insideOf(browser);
  const { attribution } = inside;
  const playwright = isObject(attribution) ? attribution.playwright : null;
  const options = isObject(playwright) ? playwright.options : null;
  if (!isObject(options) || !("isClientCollocatedWithServer" in options)) throw new Error(UNKNOWN);
  options.isServer = true;
  options.isClientCollocatedWithServer = false;
}

/** Takes from clients what opens and closes their own endpoint. Playwright itself closes it with the browser. */
export function keepEndpoint(browser: Browser): void {
  const inside = insideOf(browser);
  const { stopServer, isConnected } = inside;
  if (typeof stopServer !== "function" || typeof isConnected !== "function")
    throw new Error(UNKNOWN);
  const refuse = (): Promise<never> => Promise.reject(new Error("Not allowed here."));
  inside.startServer = refuse;
  inside.stopServer = (...args: unknown[]) =>
    isConnected.call(inside) ? refuse() : stopServer.apply(inside, args);
}

function insideOf(browser: Browser): Record<string, unknown> {
  const connection: unknown = Reflect.get(browser, "_connection");
  const toImpl = isObject(connection) ? connection.toImpl : null;
  const inside: unknown = typeof toImpl === "function" ? toImpl(browser) : null;
  if (!isObject(inside)) throw new Error(UNKNOWN);
  return inside;
}
