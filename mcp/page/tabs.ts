import type { Cdp } from "@svc/sdk/cdp.ts";

/** A tab, as the browser tells of it without asking the page. */
export interface Tab {
  targetId: string;
  url: string;
  title: string;
  browserContextId?: string | undefined;
}

interface Told extends Tab {
  type: string;
}

const FILTER = [{ type: "page" }, { exclude: true }];

/** The tabs of a browser, and its connection. */
export class Tabs {
  readonly cdp: Cdp;
  readonly signal: AbortSignal;
  readonly #tabs = new Map<string, Tab>();
  readonly #listeners = new Set<() => void>();

  private constructor(cdp: Cdp, signal: AbortSignal) {
    this.cdp = cdp;
    this.signal = signal;
  }

  static async open(cdp: Cdp, signal: AbortSignal): Promise<Tabs> {
    const tabs = new Tabs(cdp, signal);
    const note = ({ targetInfo }: Record<string, unknown>): void => tabs.#note(targetInfo as Told);
    cdp.on("Target.targetCreated", note);
    cdp.on("Target.targetInfoChanged", note);
    cdp.on("Target.targetDestroyed", ({ targetId }) => {
      tabs.#tabs.delete(String(targetId));
      tabs.#tell();
    });
    const discover = { discover: true, filter: FILTER };
    await cdp.send("Target.setDiscoverTargets", discover, { signal });
    return tabs;
  }

  /** The tab that was opened last; undefined when all have closed. */
  async current(): Promise<Tab | undefined> {
    const all = [...this.#tabs.values()];
    if (all.length < 2) return all[0];
    const ages = await Promise.all(all.map((tab) => this.#firstEntry(tab)));
    return all[ages.indexOf(Math.max(...ages))];
  }

  /** The browser tells tabs in no order, but numbers what they go to, one count for all of them. */
  async #firstEntry({ targetId }: Tab): Promise<number> {
    try {
      const session = await this.cdp.attach(targetId, this);
      const { entries } = await session.send("Page.getNavigationHistory", {}, this);
      // A tab that has gone nowhere yet has just been opened.
      return (entries as { id: number }[])[0]?.id ?? Number.MAX_SAFE_INTEGER;
    } catch {
      this.signal.throwIfAborted();
      // The tab has closed meanwhile.
      return -1;
    }
  }

  get ids(): ReadonlySet<string> {
    return new Set(this.#tabs.keys());
  }

  get(targetId: string): Tab | undefined {
    return this.#tabs.get(targetId);
  }

  /** Tabs that are not among these. */
  since(known: ReadonlySet<string>): Tab[] {
    return [...this.#tabs.values()].filter(({ targetId }) => !known.has(targetId));
  }

  /** Opens a tab, in the context of another one. */
  async create(beside?: Tab): Promise<Tab> {
    const { browserContextId } = beside ?? {};
    const params = { url: "about:blank", ...(browserContextId && { browserContextId }) };
    const { targetId } = await this.cdp.send("Target.createTarget", params, this);
    const tab = { targetId: String(targetId), url: "about:blank", title: "", browserContextId };
    return this.#tabs.get(tab.targetId) ?? tab;
  }

  async close({ targetId }: Tab): Promise<void> {
    await this.cdp.send("Target.closeTarget", { targetId }, this);
  }

  /** Calls back when a tab has opened, closed, or gone somewhere. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #note({ targetId, url, title, browserContextId, type }: Told): void {
    if (type !== "page") return;
    this.#tabs.set(targetId, { targetId, url, title, browserContextId });
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}
