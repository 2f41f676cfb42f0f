import { randomBytes } from "node:crypto";
import * as z from "zod";
import type { JsonObject } from "../cdp/envelope.ts";
import type { CdpMux } from "../cdp/mux.ts";
import { type CdpEvent, OwnClient } from "../cdp/own-client.ts";
import { type PageBudget, type SessionBudget } from "./budget.ts";
import { CAPTCHA_KINDS } from "./challenge.ts";
import { MOST_WIDGETS, WORLD, lookoutScript } from "./page-scripts.ts";
import { PageWorld, type WatchedDocument } from "./world.ts";

/** Nothing waits for it: what is looked for comes after the document. */
const ATTACH = {
  autoAttach: true,
  waitForDebuggerOnStart: false,
  flatten: true,
  filter: [{ type: "page" }, { type: "iframe" }, { exclude: true }],
};
/** Of a page, told with each widget: more is told to nobody. */
const MOST_KNOWN = 64;

const Attached = z.object({
  sessionId: z.string(),
  targetInfo: z.object({ targetId: z.string() }),
});
const Frame = z.object({ id: z.string(), parentId: z.string().optional() });
const Called = z.object({
  name: z.string(),
  payload: z.string().max(64 * 1024),
  executionContextId: z.number(),
});

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
  readonly #client: OwnClient;
  readonly #binding = `_${randomBytes(8).toString("hex")}`;
  readonly #budget: SessionBudget;
  readonly #onFound: (finding: Finding) => void;
  /** Of each session, the tab that it belongs to. */
  readonly #tabs = new Map<string, string>();
  /** By tab. */
  readonly #pages = new Map<string, Page>();
  /** By frame. */
  readonly #documents = new Map<string, WatchedDocument>();
  /** Documents that have come and cannot be asked yet, by frame. */
  readonly #coming = new Map<string, Promise<void>>();

  private constructor(mux: CdpMux, budget: SessionBudget, onFound: (finding: Finding) => void) {
    this.#client = new OwnClient(mux, (event) => this.#hear(event));
    this.#budget = budget;
    this.#onFound = onFound;
  }

  static async start(
    mux: CdpMux,
    budget: SessionBudget,
    onFound: (finding: Finding) => void,
  ): Promise<CaptchaWatch> {
    const watch = new CaptchaWatch(mux, budget, onFound);
    await watch.#client.open();
    await watch.#client.call("Target.setAutoAttach", ATTACH);
    return watch;
  }

  /** Lets go of the browser; whatever is being solved is given up. */
  close(): void {
    for (const { budget } of this.#pages.values()) budget.leave();
    this.#pages.clear();
    this.#documents.clear();
    this.#tabs.clear();
    this.#client.close();
  }

  #hear({ method, params, sessionId }: CdpEvent): void {
    switch (method) {
      case "Target.attachedToTarget":
        this.#attached(Attached.safeParse(params).data, sessionId);
        return;
      case "Target.detachedFromTarget":
        this.#forget(String(params.sessionId));
        return;
      case "Page.frameNavigated":
        this.#navigated(Frame.safeParse(params.frame).data, sessionId);
        return;
      case "Page.frameDetached":
        this.#leave(String(params.frameId), sessionId);
        return;
      case "Page.loadEventFired":
        void this.#loaded(sessionId);
        return;
      case "Runtime.bindingCalled":
        void this.#called(Called.safeParse(params).data, sessionId);
    }
  }

  #attached(attached: z.infer<typeof Attached> | undefined, parent: string | null): void {
    if (!attached) return;
    const { sessionId, targetInfo } = attached;
    const { targetId } = targetInfo;
    const tab = (parent && this.#tabs.get(parent)) ?? targetId;
    this.#tabs.set(sessionId, tab);
    if (tab === targetId) this.#turn(tab);
    const script = { source: lookoutScript(this.#binding), worldName: WORLD, runImmediately: true };
    void this.#call("Page.enable", {}, sessionId);
    void this.#call("Page.addScriptToEvaluateOnNewDocument", script, sessionId);
    void this.#call("Target.setAutoAttach", ATTACH, sessionId);
    // The frame of a target has the target's name.
    this.#connect(targetId, sessionId);
  }

  #navigated(frame: z.infer<typeof Frame> | undefined, sessionId: string | null): void {
    if (!frame || sessionId === null) return;
    if (frame.id === this.#tabs.get(sessionId)) this.#turn(frame.id);
    this.#connect(frame.id, sessionId);
  }

  /** A tab has another page now. */
  #turn(tab: string): void {
    this.#pages.get(tab)?.budget.leave();
    this.#pages.set(tab, { budget: this.#budget.openPage(), known: new Set() });
  }

  /** Lets the lookout of the frame's document tell what it finds. */
  #connect(frameId: string, sessionId: string): void {
    const coming = this.#reach(frameId, sessionId).finally(() => {
      if (this.#coming.get(frameId) === coming) this.#coming.delete(frameId);
    });
    this.#coming.set(frameId, coming);
  }

  async #reach(frameId: string, sessionId: string): Promise<void> {
    const world = { frameId, worldName: WORLD };
    const { executionContextId: contextId } = await this.#call(
      "Page.createIsolatedWorld",
      world,
      sessionId,
    );
    if (typeof contextId !== "number" || !this.#tabs.has(sessionId)) return;
    this.#documents.set(frameId, { sessionId, contextId });
    const binding = { name: this.#binding, executionContextId: contextId };
    await this.#call("Runtime.addBinding", binding, sessionId);
  }

  /** A page may have rendered a Turnstile that leaves nothing in its document. */
  async #loaded(sessionId: string | null): Promise<void> {
    const tab = sessionId === null ? undefined : this.#tabs.get(sessionId);
    if (tab === undefined) return;
    await this.#coming.get(tab);
    const document = this.#documents.get(tab);
    if (document?.sessionId !== sessionId) return;
    const has = await new PageWorld(this.#client, document).hasTurnstile().catch(() => false);
    if (has) await this.#findRendered(document);
  }

  async #called(
    called: z.infer<typeof Called> | undefined,
    sessionId: string | null,
  ): Promise<void> {
    if (!called || called.name !== this.#binding) return;
    const document = [...this.#documents.values()].find(
      (one) => one.sessionId === sessionId && one.contextId === called.executionContextId,
    );
    const found = Found.safeParse(jsonOf(called.payload)).data;
    if (!document || !found) return;
    for (const widget of found.widgets) this.#found(widget, document);
    if (found.hasBareTurnstile) await this.#findRendered(document);
  }

  async #findRendered(document: WatchedDocument): Promise<void> {
    const tab = this.#tabs.get(document.sessionId);
    const page = tab === undefined ? undefined : this.#pages.get(tab);
    if (!page || page.budget.isSpent) return;
    const world = new PageWorld(this.#client, document);
    const widgets = await world.rendered().catch(() => []);
    for (const widget of widgets) this.#found(widget, document);
  }

  #found(told: unknown, document: WatchedDocument): void {
    const tab = this.#tabs.get(document.sessionId);
    const page = tab === undefined ? undefined : this.#pages.get(tab);
    const widget = Widget.safeParse(told).data;
    if (tab === undefined || !page || !widget) return;
    const name = `${document.sessionId} ${document.contextId} ${widget.kind} ${widget.siteKey}`;
    if (page.known.has(name) || page.known.size >= MOST_KNOWN) return;
    page.known.add(name);
    const world = new PageWorld(this.#client, document);
    this.#onFound({
      widget,
      tab,
      world,
      page: page.budget,
      url: () => world.url().catch(() => null),
    });
  }

  #forget(sessionId: string): void {
    const tab = this.#tabs.get(sessionId);
    this.#tabs.delete(sessionId);
    for (const frameId of this.#documents.keys()) this.#leave(frameId, sessionId);
    if (tab === undefined || [...this.#tabs.values()].includes(tab)) return;
    this.#pages.get(tab)?.budget.leave();
    this.#pages.delete(tab);
  }

  /** The frame has gone, or is another session's by now. */
  #leave(frameId: string, sessionId: string | null): void {
    if (this.#documents.get(frameId)?.sessionId === sessionId) this.#documents.delete(frameId);
  }

  /** The answer; an empty one when the target has ended, or has gone on to another document. */
  async #call(method: string, params: JsonObject, sessionId: string): Promise<JsonObject> {
    return this.#client.call(method, params, sessionId).catch(() => ({}));
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
