import type { StorageState } from "@svc/contract/browser/storage-state.ts";
import type { WireVersion } from "@svc/contract/browser/wire-versions.ts";
import type { CdpMux } from "../cdp/mux.ts";
import type { CdpPipe } from "../cdp/pipe.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { LATE, inTime } from "@svc/host-kit/deadline.ts";
import type { CustomerSockets } from "../customer-sockets.ts";
import { type Arrival, handoverOf } from "./handed-sockets.ts";
import { AttachedPlaywright, PlaywrightGone } from "./attached-playwright.ts";
import type { PlaywrightProcesses } from "./processes.ts";
import { UnknownPlaywright } from "./served-versions.ts";

interface Attached {
  playwright: AttachedPlaywright;
  /** The path under which the Playwright answers customers. */
  path: string;
}

/** The Playwrights attached to the browser of one slot: each minor when it is first wanted, and once. */
export class SlotPlaywrights {
  readonly #processes: PlaywrightProcesses;
  readonly #key: string;
  readonly #mux: CdpMux;
  readonly #pipe: CdpPipe;
  readonly #attachedByVersion = new Map<WireVersion, Promise<Attached>>();
  readonly #connected = new Set<AttachedPlaywright>();
  /** Origins that have storage though no Playwright has seen a page of theirs. */
  #noted: string[] = [];

  /** `key`: names the slot in the folder that pool and Playwrights share. */
  constructor(processes: PlaywrightProcesses, key: string, mux: CdpMux, pipe: CdpPipe) {
    this.#processes = processes;
    this.#key = key;
    this.#mux = mux;
    this.#pipe = pipe;
  }

  /** Attaches a minor. Callers who ask while it is being attached wait for the same attachment. */
  async attach(version: WireVersion): Promise<void> {
    await this.#attached(version);
  }

  /** Hands a customer's socket over to the Playwright of a minor. Rejects when none answers in time: the socket is here still. */
  async open(version: WireVersion, arrival: Arrival, sockets: CustomerSockets): Promise<void> {
    const attached = await inTime(this.#living(version), LIMITS.slotUpgradeMs);
    if (attached === LATE) throw new Error("no Playwright in time");
    const { playwright, path } = attached;
    const { id, client } = playwright.sockets.add({
      onTraffic: () => sockets.touch(),
      onEnd: (ended, end) => sockets.remove(ended, end),
    });
    // Counted first: the Playwright may tell its end before anything else runs here.
    const opens = sockets.add(client, arrival.request);
    const to = { key: this.#key, client: id, opens, path };
    try {
      await this.#processes.give(version, handoverOf(to, arrival), arrival.socket);
    } catch (error) {
      playwright.sockets.lost(id);
      throw error;
    }
  }

  /** Gives the default context a storage state, by the newest minor. */
  async seed(state: StorageState): Promise<void> {
    const { playwright } = await this.#attached(this.#newest());
    await playwright.seed(state);
  }

  /** Tells every Playwright, also those to come, that origins have storage: `storageState()` reads those that it knows. */
  async noteOrigins(origins: string[]): Promise<void> {
    this.#noted = origins;
    const attached = await Promise.allSettled(this.#attachedByVersion.values());
    const playwrights = attached.flatMap((one) =>
      one.status === "fulfilled" ? one.value.playwright : [],
    );
    // Another Playwright takes the place of one that is gone, and is told as it is attached.
    const unlessGone = (error: unknown): void => {
      if (!(error instanceof PlaywrightGone)) throw error;
    };
    await Promise.all(playwrights.map((one) => one.noteOrigins(origins).catch(unlessGone)));
  }

  /** Attaches the newest minor that can be confined: most clients use it, and do not wait for it then. */
  async warm(): Promise<void> {
    for (;;) {
      const newest = this.#newest();
      try {
        await this.#attached(newest);
        return;
      } catch (error) {
        if (this.#processes.served.newest === newest) throw error;
      }
    }
  }

  /** A Playwright that answers: one that has just died is not known to be dead, and is replaced. */
  async #living(version: WireVersion): Promise<Attached> {
    const attached = await this.#attached(version);
    const isAlive = await attached.playwright.ping().then(
      () => true,
      () => false,
    );
    if (isAlive) return attached;
    await attached.playwright.ended;
    return this.#attached(version);
  }

  #newest(): WireVersion {
    const { newest } = this.#processes.served;
    if (!newest) throw new UnknownPlaywright();
    return newest;
  }

  #attached(version: WireVersion): Promise<Attached> {
    const known = this.#attachedByVersion.get(version);
    if (known) return known;
    const attached = this.#attachNew(version);
    this.#attachedByVersion.set(version, attached);
    const forget = (): void => void this.#attachedByVersion.delete(version);
    attached.then(({ playwright }) => playwright.ended.then(forget), forget);
    return attached;
  }

  /** Whether a Playwright has no client while others drive the browser. */
  #isUnwatched(playwright: AttachedPlaywright): boolean {
    if (playwright.sockets.size > 0) return false;
    const others = [...this.#connected].filter((one) => one.sockets.size > 0);
    return others.length > 0 || this.#mux.clientCount > this.#connected.size;
  }

  async #attachNew(version: WireVersion, tries = 2): Promise<Attached> {
    const socket = await this.#processes.connect(version);
    const slot = {
      isUnwatched: (): boolean => this.#isUnwatched(playwright),
      onFault: (reason: string) =>
        this.#processes.log.warn({ version, reason }, "playwright_faulty"),
      onUntaken: () => this.#processes.log.warn({ version }, "socket_not_taken"),
    };
    const playwright: AttachedPlaywright = new AttachedPlaywright(
      socket,
      this.#mux,
      this.#pipe,
      slot,
    );
    this.#connected.add(playwright);
    void playwright.ended.then(() => this.#connected.delete(playwright));
    try {
      return { playwright, path: await playwright.attach(this.#key, this.#noted) };
    } catch (error) {
      // The Playwright was dying when it took the connection.
      if (error instanceof PlaywrightGone && tries > 1) return this.#attachNew(version, tries - 1);
      if (error instanceof UnknownPlaywright) this.#processes.served.refuse(version);
      throw error;
    }
  }
}
