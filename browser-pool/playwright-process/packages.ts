import { createRequire } from "node:module";
import type { StorageState } from "@svc/contract/browser/storage-state.ts";
import type { ConnectOverCDPTransport } from "playwright-core";
import type { BuildName } from "../playwrights/builds.ts";

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
const PACKAGES: Record<BuildName, () => Promise<Playwright>> = {
  "1.65": () => import("playwright-core"),
  "1.64": () => import("playwright-core-1.64"),
  "1.63": () => import("playwright-core-1.63"),
  "1.63-patchright": () => import("patchright-core"),
};

const INSIDES: Record<BuildName, string> = {
  "1.65": "playwright-core/lib/coreBundle",
  "1.64": "playwright-core-1.64/lib/coreBundle",
  "1.63": "playwright-core-1.63/lib/coreBundle",
  "1.63-patchright": "patchright-core/lib/coreBundle",
};

/** The module of a build that its package does not export. */
export function insidesOf(build: BuildName): unknown {
  return createRequire(import.meta.url)(INSIDES[build]);
}

/** The Playwright of a build, loaded when it is first asked for. */
export function playwrightOf(build: BuildName): Promise<Playwright> {
  return PACKAGES[build]();
}
