import type { WireVersion } from "@svc/contract/browser/wire-versions.ts";
import type { StoredState } from "../profile.ts";
import type { ConnectOverCDPTransport } from "playwright-core";

/** What is used of a Playwright; all that are served have it alike. */
export interface Playwright {
  chromium: {
    connectOverCDP(
      transport: ConnectOverCDPTransport,
      options: { artifactsDir: string; timeout: number },
    ): Promise<PlaywrightBrowser>;
  };
}

export interface PlaywrightBrowser {
  contexts(): {
    pages(): unknown[];
    newPage(): Promise<unknown>;
    setStorageState(state: StoredState): Promise<void>;
  }[];
  bind(title: string, options: { host: string; port: number }): Promise<{ endpoint: string }>;
}

// Each takes some 50 MiB once it is loaded: only what a client asks for is.
const PACKAGES: Record<WireVersion, () => Promise<Playwright>> = {
  "1.65": () => import("playwright-core"),
  "1.64": () => import("playwright-core-1.64"),
  "1.63": () => import("playwright-core-1.63"),
};

/** The Playwright of a minor, loaded when it is first asked for. */
export function playwrightOf(version: WireVersion): Promise<Playwright> {
  return PACKAGES[version]();
}
