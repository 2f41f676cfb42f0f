import type { StorageState } from "@svc/contract/browser/storage-state.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import type { CdpMux } from "../cdp/mux.ts";
import { inBrowser } from "../launch/in-browser.ts";
import { TooLarge, readState } from "./read.ts";
import type { VisitedOrigins } from "./visited.ts";

/** A state as it is stored, and how many entries of the browser are not in it. */
export interface StateBytes {
  bytes: Buffer;
  lost: number;
}

/** The state of a browser's default context, as it is whenever it is asked for. */
export class LiveState {
  readonly #mux: CdpMux;
  readonly #visited: VisitedOrigins;
  readonly #died: Promise<void>;
  /** Passkeys that the browser began with: no browser tells them again. */
  #credentials: StorageState["credentials"] = [];
  #reading: Promise<unknown> = Promise.resolve();

  constructor(mux: CdpMux, visited: VisitedOrigins, died: Promise<void>) {
    this.#mux = mux;
    this.#visited = visited;
    this.#died = died;
  }

  /** The browser is given a state to begin with. */
  began({ origins, credentials }: StorageState): void {
    this.#credentials = credentials;
    for (const { origin } of origins) this.#visited.note(origin);
  }

  /**
   * Reads the state: one reader at a time. Throws `TooLarge`, and when the browser dies, or the read takes too long with the
   * wait for those before: the gateway waits no longer, however many ask.
   */
  async read(): Promise<StateBytes> {
    const over = new AbortController();
    const reading = this.#reading.then(() =>
      readState(this.#mux, this.#visited, this.#credentials, over.signal),
    );
    this.#reading = reading.catch(() => null);
    try {
      const { text, lost } = await inBrowser(reading, LIMITS.profileReadMs, this.#died);
      const bytes = Buffer.from(text);
      if (bytes.length > LIMITS.profileStateBytes) throw new TooLarge();
      return { bytes, lost };
    } finally {
      over.abort();
    }
  }
}
