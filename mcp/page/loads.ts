import type { CdpSession } from "@svc/sdk/cdp.ts";

/** How far a document may be waited for. */
export type Milestone = "load" | "domcontentloaded" | "networkidle";

const LIFECYCLE: Readonly<Record<string, Milestone>> = {
  DOMContentLoaded: "domcontentloaded",
  load: "load",
  networkIdle: "networkidle",
};

interface FrameEvent {
  frameId: string;
  loaderId: string;
  name: string;
  disposition: string;
  frame: { id: string; parentId?: string; loaderId: string };
}

/** The documents that the main frame of a tab loads. */
export class Loads {
  /** Documents that have come, and moves within one. */
  moves = 0;
  /** Whether a document is on its way. */
  isLoading = false;
  /** Navigations that the page has asked for. */
  asked = 0;
  #loader = "";
  readonly #known = new Set<string>();
  /** A document that has to come first. */
  #awaited: string | null = null;
  readonly #reached = new Map<string, Set<Milestone>>();
  readonly #listeners = new Set<() => void>();

  constructor(session: CdpSession, mainFrame: string, onDocument: () => void) {
    const on = (event: string, note: (event: FrameEvent) => void): void => {
      session.on(event, (params) => {
        const known = params as unknown as FrameEvent;
        if ((known.frameId ?? known.frame.id) !== mainFrame) return;
        note(known);
        for (const listener of this.#listeners) listener();
      });
    };
    on("Page.frameNavigated", ({ frame }) => {
      this.#loader = frame.loaderId;
      this.#known.add(frame.loaderId);
      if (this.#awaited === frame.loaderId) this.#awaited = null;
      this.moves += 1;
      onDocument();
    });
    on("Page.navigatedWithinDocument", () => (this.moves += 1));
    on("Page.frameRequestedNavigation", ({ disposition }) => {
      if (disposition === "currentTab") this.asked += 1;
    });
    on("Page.frameStartedLoading", () => (this.isLoading = true));
    on("Page.frameStoppedLoading", () => (this.isLoading = false));
    on("Page.lifecycleEvent", ({ loaderId, name }) => {
      const milestone = LIFECYCLE[name];
      const reached = this.#reached.get(loaderId) ?? new Set<Milestone>();
      this.#reached.set(loaderId, reached);
      if (milestone) reached.add(milestone);
      // A document that was awaited may be told of by this kind of event alone.
      if (this.#loader !== "" && this.#awaited !== loaderId) return;
      this.#loader = loaderId;
      if (this.#awaited === loaderId) this.#awaited = null;
    });
  }

  /** A document that is on its way is the one that is waited for. */
  expect(loaderId: string): void {
    const isThere = this.#known.has(loaderId) || this.#reached.has(loaderId);
    if (isThere) this.#loader = loaderId;
    this.#awaited = isThere ? null : loaderId;
  }

  /** Whether the document that is there now has come so far. */
  has(milestone: Milestone): boolean {
    if (this.#awaited !== null) return false;
    return this.#reached.get(this.#loader)?.has(milestone) ?? false;
  }

  /** Resolves with true when a condition holds, and with false when it does not within `ms`. */
  until(condition: () => boolean, ms: number, signal: AbortSignal): Promise<boolean> {
    if (condition()) return Promise.resolve(true);
    return new Promise((resolve, reject) => {
      const end = (settle: () => void): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", stop);
        this.#listeners.delete(listener);
        settle();
      };
      const timer = setTimeout(() => end(() => resolve(false)), ms);
      const stop = (): void => end(() => reject(signal.reason));
      const listener = (): void => {
        if (condition()) end(() => resolve(true));
      };
      signal.addEventListener("abort", stop, { once: true });
      this.#listeners.add(listener);
    });
  }

  /** Has every `until` look at its condition again. */
  wake(): void {
    for (const listener of this.#listeners) listener();
  }
}
