import type { WireVersion } from "@svc/contract/browser/wire-versions.ts";
import type { CdpMux } from "../cdp/mux.ts";
import type { StoredState } from "../profile.ts";
import { UnknownPlaywright } from "./confinement.ts";
import { type WireHost, attachWire } from "./host.ts";
import type { ServedVersions } from "./served.ts";

/** The Playwrights attached to one browser: each minor when it is first wanted, and once. */
export class WireHosts {
  readonly #mux: CdpMux;
  readonly #artifactsDir: string;
  readonly #served: ServedVersions;
  readonly #hosts = new Map<WireVersion, Promise<WireHost>>();

  constructor(mux: CdpMux, artifactsDir: string, served: ServedVersions) {
    this.#mux = mux;
    this.#artifactsDir = artifactsDir;
    this.#served = served;
  }

  /** The host of a minor. Those who ask while it is being attached wait for the same one. */
  at(version: WireVersion): Promise<WireHost> {
    const known = this.#hosts.get(version);
    if (known) return known;
    const host = attachWire(version, this.#mux, this.#artifactsDir);
    this.#hosts.set(version, host);
    host.catch((error: unknown) => {
      this.#hosts.delete(version);
      if (error instanceof UnknownPlaywright) this.#served.refuse(version);
    });
    return host;
  }

  /** Gives the default context a stored state, by the newest minor. */
  async seed(state: StoredState): Promise<void> {
    const { newest } = this.#served;
    if (!newest) throw new UnknownPlaywright();
    const host = await this.at(newest);
    await host.seed(state);
  }

  /** Attaches the newest minor that can be confined: most clients are of it, and none waits for it then. */
  async warm(): Promise<void> {
    for (;;) {
      const { newest } = this.#served;
      if (!newest) throw new UnknownPlaywright();
      try {
        await this.at(newest);
        return;
      } catch (error) {
        if (this.#served.newest === newest) throw error;
      }
    }
  }
}
