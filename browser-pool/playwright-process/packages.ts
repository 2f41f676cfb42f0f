import { createRequire } from "node:module";
import type { StorageState } from "@svc/contract/browser/storage-state.ts";
import type { WireVersion } from "@svc/contract/browser/wire-versions.ts";
import type { ConnectOverCDPTransport } from "playwright-core";

/** The parts of Playwright that are used here; the same in all versions that are served. */
export interface Playwright {
  chromium: {
    connectOverCDP(
      transport: ConnectOverCDPTransport,
      options: { artifactsDir: string; timeout: number },
    ): Promise<PlaywrightBrowser>;
  };
}

export interface PlaywrightContext {
  pages(): unknown[];
  newPage(): Promise<unknown>;
  setStorageState(state: StorageState): Promise<void>;
}

export interface PlaywrightBrowser {
  contexts(): PlaywrightContext[];
  bind(title: string, options: { host: string; port: number }): Promise<{ endpoint: string }>;
}

// Each takes some 50 MiB once it is loaded: only the wanted version is loaded.
const PACKAGES: Record<WireVersion, () => Promise<Playwright>> = {
  "1.65": () => import("playwright-core"),
  "1.64": () => import("playwright-core-1.64"),
  "1.63": () => import("playwright-core-1.63"),
};

const INSIDES: Record<WireVersion, string> = {
  "1.65": "playwright-core/lib/coreBundle",
  "1.64": "playwright-core-1.64/lib/coreBundle",
  "1.63": "playwright-core-1.63/lib/coreBundle",
};

/** The module of a minor that its package does not export. */
export function insidesOf(version: WireVersion): unknown {
  return createRequire(import.meta.url)(INSIDES[version]);
}

/** The Playwright of a minor, loaded when it is first asked for. */
export function playwrightOf(version: WireVersion): Promise<Playwright> {
  return PACKAGES[version]();
}
