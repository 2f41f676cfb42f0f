import { chromium } from "playwright-core";
import type { CdpMux } from "../cdp/mux.ts";
import { confine, keepEndpoint } from "./confinement.ts";
import { WireTransport } from "./transport.ts";

const ATTACH_MS = 30_000;

/** Where one Playwright minor answers its clients. Closes by itself with its browser. */
export interface WireHost {
  port: number;
  path: string;
}

/** Attaches Playwright to a browser and lets it answer its own protocol on a port of loopback. */
export async function attachWire(mux: CdpMux, artifactsDir: string): Promise<WireHost> {
  const transport = new WireTransport(mux);
  await mux.attach(transport);
  // Files of uploads and downloads must lie where the browser sees them.
  const browser = await chromium.connectOverCDP(transport, { artifactsDir, timeout: ATTACH_MS });
  confine(browser);
  const [context] = browser.contexts();
  // Every new session has a page.
  if (context && context.pages().length === 0) await context.newPage();
  const { endpoint } = await browser.bind("svc", { host: "127.0.0.1", port: 0 });
  keepEndpoint(browser);
  const { port, pathname } = new URL(endpoint);
  return { port: Number(port), path: pathname };
}
