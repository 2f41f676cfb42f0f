import type { BrowserKind } from "@svc/contract/browser/session.ts";
import type { StorageState } from "@svc/contract/browser/storage-state.ts";
import type { WireVersion } from "@svc/contract/browser/wire-versions.ts";
import type { CdpMux } from "../cdp/mux.ts";
import type { CdpPipe } from "../cdp/pipe.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { LATE, inTime } from "@svc/host-kit/deadline.ts";
import type { CustomerSockets } from "../customer-sockets.ts";
import { type Arrival, handoverOf } from "./handed-sockets.ts";
import { AttachedPlaywright, type Surroundings } from "./attached-playwright.ts";
import { PlaywrightGone } from "./ending.ts";
import type { PlaywrightProcess } from "./process.ts";
import type { PlaywrightProcesses } from "./processes.ts";
import { UnknownPlaywright } from "./served-versions.ts";
import type { Tenant, Tie } from "./ties.ts";
import type { NextSlot } from "./warm-playwright.ts";

/** How long after its connections the end of a process is known. */
const ENDING_MS = 2_000;

interface Attached {
  process: PlaywrightProcess;
  playwright: AttachedPlaywright;
  /** The path under which the Playwright answers customers. */
  path: string;
}

/** A process that is attached, or is being attached. */
interface Link {
  process: PlaywrightProcess;
  tie: Tie;
  attached: Promise<Attached>;
}

/**
 * The Playwrights attached to the browser of one slot: each minor when it is first wanted, and once. Before the slot has a
 * session that is the warm one; then they are those of the session's org.
 */
export class SlotPlaywrights implements Tenant, NextSlot {
  readonly #processes: PlaywrightProcesses;
  readonly #key: string;
  readonly #kind: BrowserKind;
  readonly #mux: CdpMux;
  readonly #pipe: CdpPipe;
  readonly #links = new Map<WireVersion, Link>();
  readonly #connected = new Set<AttachedPlaywright>();
  /** The minors that somebody needs to be attached: a client of `/ws`, or what it has given the browser. */
  readonly #needed = new Set<WireVersion>();
  /** Origins that have storage though no Playwright has seen a page of theirs. */
  #noted: string[] = [];
  #org: string | null = null;

  /** `key`: names the slot in the folder that pool and Playwrights share. */
  constructor(
    processes: PlaywrightProcesses,
    { key, kind }: { key: string; kind: BrowserKind },
    mux: CdpMux,
    pipe: CdpPipe,
  ) {
    this.#processes = processes;
    this.#key = key;
    this.#kind = kind;
    this.#mux = mux;
    this.#pipe = pipe;
  }

  get org(): string | null {
    return this.#org;
  }

  /** The processes that are attached to this slot, or are being attached. */
  get processes(): PlaywrightProcess[] {
    return [...this.#links.values()].map(({ process }) => process);
  }

  /**
   * Gives the slot to an org. The warm Playwright becomes the org's when the org's clients will speak its minor and the org
   * has no other one; otherwise it is let go of: clients of `/cdp` need none. `version`: the minor that the clients will
   * speak, null when that is not known.
   */
  giveTo(org: string, version: WireVersion | null): void {
    this.#org = org;
    if (version !== null) this.#needed.add(version);
    for (const { process, tie } of this.#links.values()) {
      const isSpoken = version === process.version;
      const isOwn = isSpoken && this.#processOf(org, process.version) === process;
      if (!isOwn) tie.end();
    }
  }

  /**
   * Attaches what the clients of the session will ask for. Without a known minor that is the newest one, and only when the
   * org has a process of that: none is started, and none that others wait for is taken, for clients who may never come.
   */
  async expect(version: WireVersion | null): Promise<void> {
    const wanted = version ?? this.#newest();
    const isRunning = this.#org !== null && this.#processes.isRunning(this.#org, wanted);
    if (version !== null) await this.attach(wanted);
    else if (isRunning)
      await this.#link(wanted).attached.catch((error: unknown) => {
        // Given up for a client of `/cdp`, or gone: whoever needs one has it attached again.
        if (this.#needed.has(wanted)) throw error;
      });
  }

  /**
   * A client of `/cdp` is about to drive the browser: a Playwright that nobody needs lets go of it. It would follow every
   * step of that client's pages, for a third of the time that a page takes to load. A client of `/ws` has it attached again.
   */
  giveWay(): void {
    for (const [version, { tie }] of this.#links) if (!this.#needed.has(version)) tie.end();
  }

  /** Has a process of the minor that the clients will speak, when that is known. Attaches nothing. */
  async prepare(version: WireVersion | null): Promise<void> {
    if (this.#org !== null && version !== null) this.#processOf(this.#org, version);
  }

  /** Attaches a minor. Callers who ask while it is being attached wait for the same attachment. */
  async attach(version: WireVersion): Promise<void> {
    await this.#attached(version);
  }

  /** Hands a customer's socket over to the Playwright of a minor. Rejects when none answers in time: the socket is here still. */
  async open(version: WireVersion, arrival: Arrival, sockets: CustomerSockets): Promise<void> {
    this.#needed.add(version);
    const attached = await inTime(this.#living(version), LIMITS.slotUpgradeMs);
    if (attached === LATE) throw new Error("no Playwright in time");
    const { process, playwright, path } = attached;
    const { id, client } = playwright.sockets.add(arrival.socket, {
      onTraffic: () => sockets.touch(),
      onEnd: (ended, end) => sockets.remove(ended, end),
    });
    // Counted first: the Playwright may tell its end before anything else runs here.
    const opens = sockets.add(client, arrival.request);
    const to = { key: this.#key, client: id, opens, path };
    try {
      await process.give(handoverOf(to, arrival), arrival.socket);
    } catch (error) {
      playwright.sockets.lost(id);
      throw error;
    }
  }

  /** Gives the default context a storage state, by the newest minor. */
  async seed(state: StorageState): Promise<void> {
    const newest = this.#newest();
    // Keys to sign in with are Playwright's own, and last as long as it is attached.
    this.#needed.add(newest);
    const { playwright } = await this.#attached(newest);
    await playwright.seed(state);
  }

  /** Tells every Playwright, also those to come, that origins have storage: `storageState()` reads those that it knows. */
  async noteOrigins(origins: string[]): Promise<void> {
    this.#noted = origins;
    const links = [...this.#links.values()];
    const attached = await Promise.allSettled(links.map((link) => link.attached));
    const playwrights = attached.flatMap((one) =>
      one.status === "fulfilled" ? one.value.playwright : [],
    );
    // Another Playwright takes the place of one that is gone, and is told as it is attached.
    const unlessGone = (error: unknown): void => {
      if (!(error instanceof PlaywrightGone)) throw error;
    };
    await Promise.all(playwrights.map((one) => one.noteOrigins(origins).catch(unlessGone)));
  }

  /** Attaches the warm Playwright, of the newest minor that can be confined. Does nothing once the slot has an org. */
  async warm(): Promise<void> {
    while (this.#org === null) {
      const newest = this.#newest();
      try {
        await this.#attached(newest);
        return;
      } catch (error) {
        if (this.#org === null && this.#processes.served.newest === newest) throw error;
      }
    }
  }

  /** Attaches the warm Playwright if none has ever been attached in this pool: the first browser shows that one can be. */
  async prove(): Promise<void> {
    if (!this.#processes.isProven) await this.warm();
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

  #processOf(org: string, version: WireVersion): PlaywrightProcess {
    return this.#processes.of(org, version, this.#kind);
  }

  /** The attached Playwright of a minor. One that is gone meanwhile is replaced, once; so is a build that cannot be confined. */
  async #attached(version: WireVersion): Promise<Attached> {
    const org = this.#org;
    const link = this.#link(version);
    try {
      return await link.attached;
    } catch (error) {
      const hasOther = link.process.build !== version && error instanceof UnknownPlaywright;
      if (!(error instanceof PlaywrightGone || hasOther) || org !== this.#org) throw error;
      return this.#link(version).attached;
    }
  }

  #refuse({ build, version }: PlaywrightProcess): void {
    const { builds, served } = this.#processes;
    if (build === version) served.refuse(version);
    else builds.refuseUnmarked();
  }

  #link(version: WireVersion): Link {
    const known = this.#links.get(version);
    if (known) return known;
    const process =
      this.#org === null ? this.#processes.warm.get() : this.#processOf(this.#org, version);
    if (process.version !== version) throw new Error("a slot without an org has the warm version");
    const tie = process.tie(this);
    const attached = this.#attachTo(process, tie.signal);
    const link = { process, tie, attached };
    this.#links.set(version, link);
    tie.signal.addEventListener("abort", () => {
      if (this.#links.get(version) === link) this.#links.delete(version);
    });
    attached.then(
      ({ playwright }) => playwright.ended.then(() => tie.end()),
      () => tie.end(),
    );
    return link;
  }

  /** Whether a Playwright has no client while others drive the browser. */
  #isUnwatched(playwright: AttachedPlaywright): boolean {
    if (playwright.sockets.size > 0) return false;
    const others = [...this.#connected].filter((one) => one.sockets.size > 0);
    return others.length > 0 || this.#mux.clientCount > this.#connected.size;
  }

  async #attachTo(process: PlaywrightProcess, signal: AbortSignal): Promise<Attached> {
    const socket = await process.connect();
    if (signal.aborted) {
      socket.destroy();
      throw new PlaywrightGone();
    }
    const slot = this.#around(process, () => this.#isUnwatched(playwright));
    const playwright: AttachedPlaywright = new AttachedPlaywright(
      socket,
      this.#mux,
      this.#pipe,
      slot,
    );
    signal.addEventListener("abort", () => playwright.leave());
    this.#connected.add(playwright);
    void playwright.ended.then(() => this.#connected.delete(playwright));
    try {
      const path = await playwright.attach(this.#key, this.#noted);
      this.#processes.isProven = true;
      return { process, playwright, path };
    } catch (error) {
      if (error instanceof UnknownPlaywright) this.#refuse(process);
      throw error;
    }
  }

  #around(process: PlaywrightProcess, isUnwatched: () => boolean): Surroundings {
    const { log } = this.#processes;
    const { version } = process;
    return {
      isUnwatched,
      hasHand: this.#kind === "stealth",
      onUntaken: () => log.warn({ version }, "socket_not_taken"),
      onTooLong: (reason) => log.warn({ version, reason }, "message_too_long"),
      onNonsense: (nonsense) => log.error({ version, nonsense }, "playwright_talks_nonsense"),
      whyEnded: async () => {
        const ending = await inTime(process.ended, ENDING_MS);
        return ending !== LATE && ending.isFault ? ending.reason : null;
      },
    };
  }
}
