import type { WireVersion } from "@svc/contract/browser/wire-versions.ts";
import type { CdpMux } from "../cdp/mux.ts";
import type { StoredState } from "../profile.ts";
import { confine, keepEndpoint } from "./confinement.ts";
import { playwrightOf } from "./playwrights.ts";
import { WireTransport } from "./transport.ts";

const ATTACH_MS = 30_000;

/** Where one Playwright minor answers its clients. Closes by itself with its browser. */
export interface WireHost {
  port: number;
  path: string;
  /** Gives the default context a stored state, in place of what it has. Its sites are not asked for anything. */
  seed(state: StoredState): Promise<void>;
}

/** Attaches a Playwright to a browser and lets it answer its own protocol on a port of loopback. */
export async function attachWire(
  version: WireVersion,
  mux: CdpMux,
  artifactsDir: string,
): Promise<WireHost> {
  const { chromium } = await playwrightOf(version);
  const transport = new WireTransport(mux);
  try {
    await mux.attach(transport);
    // Files of uploads and downloads must lie where the browser sees them.
    const browser = await chromium.connectOverCDP(transport, { artifactsDir, timeout: ATTACH_MS });
    confine(browser);
    const [context] = browser.contexts();
    if (!context) throw new Error("the browser has no default context");
    // Every new session has a page.
    if (context.pages().length === 0) await context.newPage();
    const { endpoint } = await browser.bind("svc", { host: "127.0.0.1", port: 0 });
    keepEndpoint(browser);
    const { port, pathname } = new URL(endpoint);
    const seed = (state: StoredState): Promise<void> => context.setStorageState(state);
    return { port: Number(port), path: pathname, seed };
  } catch (error) {
    transport.close();
    throw error;
  }
}
