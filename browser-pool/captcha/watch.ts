import * as z from "zod";
import type { CdpMux } from "../cdp/mux.ts";
import { type WatchedDocument, WatchedPages } from "../cdp/watched-pages.ts";
import { type PageBudget, type SessionBudget } from "./budget.ts";
import { CAPTCHA_KINDS } from "./challenge.ts";
import { MOST_WIDGETS, WORLD, lookoutScript } from "./page-scripts.ts";
import { PageWorld } from "./world.ts";

/** A longer text comes from no lookout of ours. */
const TOLD_CHARACTERS = 64 * 1024;
/** Of a page, told with each widget: more is told to nobody. */
const MOST_KNOWN = 64;

/** A captcha in a document. What a page writes into it is of no shape. */
const Widget = z.object({
  kind: z.enum(CAPTCHA_KINDS),
  siteKey: z.string().regex(/^[\w.:-]{1,200}$/),
  isInvisible: z.boolean().default(false),
  action: z.string().min(1).max(100).nullable().catch(null).default(null),
  data: z.string().min(1).max(1_000).nullable().catch(null).default(null),
  /** The name of the function that the page wants to be called. */
  callback: z.string().min(1).max(200).nullable().catch(null).default(null),
});
export type Widget = z.infer<typeof Widget>;
const Found = z.object({
  widgets: z.array(z.unknown()).max(MOST_WIDGETS),
  hasBareTurnstile: z.boolean(),
});

/** A captcha that was found, where it is, and what its page may cost. */
export interface Finding {
  widget: Widget;
  /** The tab that shows it. */
  tab: string;
  world: PageWorld;
  page: PageBudget;
  /** The URL of its document; null once the document has gone. */
  url: () => Promise<string | null>;
}

interface Page {
  budget: PageBudget;
  /** Widgets that were told of. */
  known: Set<string>;
}

/** Looks for captchas in every page, popup and frame of a browser, whoever drives it. Pages see nothing of it. */
export class CaptchaWatch {
  readonly #pages: WatchedPages;
  readonly #budget: SessionBudget;
  readonly #onFound: (finding: Finding) => void;
  /** The page that each tab has now. */
  readonly #shown = new Map<string, Page>();

  private constructor(mux: CdpMux, budget: SessionBudget, onFound: (finding: Finding) => void) {
    // What is looked for comes after the document: no page waits for the lookout.
    const script = { world: WORLD, source: lookoutScript, isAwaited: false };
    this.#pages = new WatchedPages(mux, script, {
      told: (text, { frameId }) => void this.#told(text, frameId),
      heard: ({ method, sessionId }) =>
        void (method === "Page.loadEventFired" && this.#loaded(sessionId)),
      turned: (tab) => this.#turn(tab),
      closed: (tab) => this.#closed(tab),
    });
    this.#budget = budget;
    this.#onFound = onFound;
  }

  static async start(
    mux: CdpMux,
    budget: SessionBudget,
    onFound: (finding: Finding) => void,
  ): Promise<CaptchaWatch> {
    const watch = new CaptchaWatch(mux, budget, onFound);
    await watch.#pages.open();
    return watch;
  }

  /** Lets go of the browser; whatever is being solved is given up. */
  close(): void {
    for (const tab of this.#shown.keys()) this.#closed(tab);
    this.#pages.close();
  }

  /** A tab has another page now. */
  #turn(tab: string): void {
    this.#closed(tab);
    this.#shown.set(tab, { budget: this.#budget.openPage(), known: new Set() });
  }

  #closed(tab: string): void {
    this.#shown.get(tab)?.budget.leave();
    this.#shown.delete(tab);
  }

  /** A page may have rendered a Turnstile that leaves nothing in its document. */
  async #loaded(sessionId: string | null): Promise<void> {
    const tab = this.#pages.tabOf(sessionId);
    if (tab === null) return;
    await this.#pages.come(tab);
    const document = this.#pages.documents.get(tab);
    if (document?.sessionId !== sessionId) return;
    const has = await new PageWorld(this.#pages, document).hasTurnstile().catch(() => false);
    if (has) await this.#findRendered(document);
  }

  async #told(text: string, frameId: string | null): Promise<void> {
    const document = frameId === null ? undefined : this.#pages.documents.get(frameId);
    const found = text.length > TOLD_CHARACTERS ? null : Found.safeParse(jsonOf(text)).data;
    if (!document || !found) return;
    for (const widget of found.widgets) this.#found(widget, document);
    if (found.hasBareTurnstile) await this.#findRendered(document);
  }

  async #findRendered(document: WatchedDocument): Promise<void> {
    const page = this.#shown.get(this.#pages.tabOf(document.sessionId) ?? "");
    if (!page || page.budget.isSpent) return;
    const world = new PageWorld(this.#pages, document);
    const widgets = await world.rendered().catch(() => []);
    for (const widget of widgets) this.#found(widget, document);
  }

  #found(told: unknown, document: WatchedDocument): void {
    const tab = this.#pages.tabOf(document.sessionId);
    const page = tab === null ? undefined : this.#shown.get(tab);
    const widget = Widget.safeParse(told).data;
    if (tab === null || !page || !widget) return;
    const name = `${document.sessionId} ${document.contextId} ${widget.kind} ${widget.siteKey}`;
    if (page.known.has(name) || page.known.size >= MOST_KNOWN) return;
    page.known.add(name);
    const world = new PageWorld(this.#pages, document);
    this.#onFound({
      widget,
      tab,
      world,
      page: page.budget,
      url: () => world.url().catch(() => null),
    });
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
