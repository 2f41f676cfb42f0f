import type { CdpSession } from "@svc/sdk/cdp.ts";
import { ToolError } from "../tool.ts";
import { ANSWER_MS, Attached } from "./attached.ts";
import { type Element, Frame } from "./frame.ts";
import { Loads } from "./loads.ts";
import { WHERE } from "./scripts.ts";
import type { Tab, Tabs } from "./tabs.ts";

/** A dialog that the page has opened, and that was closed for it. */
export interface Dialog {
  type: string;
  message: string;
}

/** Longest URL of an answer: that of a page may be its whole content. */
export const URL_LENGTH = 2_000;
const MESSAGE_LENGTH = 500;
const MOST_DIALOGS = 10;
/** How long an action's navigation is waited for until the page asks for it, and from then until it begins. */
const QUIET_MS = 80;
const ASKED_MS = 1_000;
/** How long a document that an action leads to is waited for. */
const SETTLE_MS = 5_000;
const OPENED_MS = 2_000;

/** A tab that is driven. */
export class Page {
  readonly tabs: Tabs;
  readonly tab: Tab;
  readonly attached: Attached;
  readonly frame: Frame;
  readonly loads: Loads;
  readonly #dialogs: Dialog[] = [];
  #hasWantedFile = false;
  readonly #session: CdpSession;
  #isCrashed = false;
  #isGone = false;
  #isEnabled = false;

  private constructor(tabs: Tabs, tab: Tab, session: CdpSession) {
    let reject = (_reason: Error): void => {};
    const gone = new Promise<never>((_resolve, refuse) => (reject = refuse));
    gone.catch(() => {});
    this.tabs = tabs;
    this.tab = tab;
    this.#session = session;
    this.attached = new Attached({ session, signal: tabs.signal, gone });
    const attach = (frameId: string): Promise<Attached> => this.#attach(frameId, gone);
    // Chromium names a tab by its main frame.
    this.frame = new Frame(this.attached, tab.targetId, attach);
    this.loads = new Loads(session, tab.targetId, () => this.attached.forgetWorlds());
    session.on("Inspector.targetCrashed", () => {
      this.#isCrashed = true;
      reject(CRASHED);
      this.loads.wake();
    });
    tabs.cdp.on("Target.detachedFromTarget", ({ sessionId }) => {
      if (sessionId !== session.sessionId) return;
      this.#isGone = true;
      reject(CLOSED);
      this.loads.wake();
    });
    session.on("Page.javascriptDialogOpening", (dialog) => this.#answer(dialog));
    session.on("Page.fileChooserOpened", () => (this.#hasWantedFile = true));
  }

  static async attach(tabs: Tabs, known: Tab | undefined): Promise<Page> {
    const tab = known ?? (await tabs.create());
    const page = new Page(tabs, tab, await tabs.cdp.attach(tab.targetId, tabs));
    page.#begin();
    return page;
  }

  /** Whether the page's process has ended, or the tab has closed. */
  get isGone(): boolean {
    return this.#isCrashed || this.#isGone;
  }

  /** Whether the page's process answers: it has crashed, or is held up by a dialog or a script, when it does not. */
  async answers(): Promise<boolean> {
    const isKnown = (): boolean => this.#isEnabled || this.isGone;
    await this.loads.until(isKnown, ANSWER_MS, this.tabs.signal);
    return this.#isEnabled && !this.isGone;
  }

  /** A page that answers nothing is not asked anything: only going somewhere helps. */
  async mustAnswer(): Promise<void> {
    if (await this.answers()) return;
    throw this.#isCrashed ? CRASHED : this.#isGone ? CLOSED : SILENT;
  }

  element(selector: string): Promise<Element> {
    return this.frame.element(selector);
  }

  /** The page's URL and title. The browser is asked about a page that does not answer, or is gone. */
  async where(): Promise<{ url: string; title: string }> {
    const { url, title } = await this.document();
    return { url, title };
  }

  /** The page's URL and title, and the status that its server answered; null where no server has. */
  async document(): Promise<{ url: string; title: string; status: number | null }> {
    try {
      return await this.attached.run(WHERE, this.frame);
    } catch {
      this.tabs.signal.throwIfAborted();
    }
    const { targetId } = (this.#isGone && (await this.tabs.current())) || this.tab;
    const { tabs } = this;
    const { targetInfo } = await tabs.cdp.send("Target.getTargetInfo", { targetId }, tabs);
    const { url, title } = targetInfo as Tab;
    return { url: url.slice(0, URL_LENGTH), title, status: null };
  }

  /** Dialogs and files that the page has asked for meanwhile, for the answer: nobody is there to say yes. */
  get asked(): { dialogs?: Dialog[]; fileChooser?: "cancelled" } {
    return {
      ...(this.#dialogs.length > 0 && { dialogs: this.#dialogs }),
      ...(this.#hasWantedFile && { fileChooser: "cancelled" }),
    };
  }

  /** Does something, waits for the document and the tabs that come of it, and tells of them. */
  async acting(act: () => Promise<void>): Promise<Record<string, unknown>> {
    const { loads, tabs } = this;
    const known = tabs.ids;
    const { moves, asked } = loads;
    try {
      await act();
    } catch (error) {
      if (error !== CLOSED) throw error;
    }
    await this.#settle(moves, asked);
    const opened = await this.#opened(known);
    return {
      ...(await this.where()),
      navigated: loads.moves > moves || this.#isGone,
      ...(loads.isLoading && { loading: true }),
      ...(opened.length > 0 && { opened }),
      ...(this.#isGone && { closed: true }),
      ...this.asked,
    };
  }

  async #settle(moves: number, asked: number): Promise<void> {
    const { loads, tabs } = this;
    const isBegun = (): boolean => loads.isLoading || loads.moves > moves || this.isGone;
    const isAsked = (): boolean => isBegun() || loads.asked > asked;
    await this.#answered(isAsked);
    if (!(await loads.until(isAsked, QUIET_MS, tabs.signal))) return;
    if (!(await loads.until(isBegun, ASKED_MS, tabs.signal))) return;
    const isOver = (): boolean => !loads.isLoading || this.isGone;
    await loads.until(isOver, SETTLE_MS, tabs.signal);
    if (this.#isCrashed) throw CRASHED;
  }

  /** Input is answered before a form is sent: what the page does right after it is told before its next answer. */
  async #answered(isAsked: () => boolean): Promise<void> {
    let isAnswered = false;
    const heard = (): void => {
      isAnswered = true;
      this.loads.wake();
    };
    this.attached.send("Runtime.evaluate", { expression: "0" }, ASKED_MS).then(heard, heard);
    await this.loads.until(() => isAnswered || isAsked(), ASKED_MS, this.tabs.signal);
  }

  /** URLs of tabs that were opened; a tab is given the time to learn where it goes. */
  async #opened(known: ReadonlySet<string>): Promise<string[]> {
    const { tabs, loads } = this;
    const isNamed = (): boolean => tabs.since(known).every(({ url }) => url !== "");
    const stop = tabs.onChange(() => loads.wake());
    await loads.until(isNamed, OPENED_MS, tabs.signal).finally(stop);
    return tabs.since(known).map(({ url }) => url.slice(0, URL_LENGTH));
  }

  #begin(): void {
    const send = (method: string, params = {}): Promise<unknown> =>
      this.#session.send(method, params, this.tabs);
    // The calls that follow tell of a tab that has gone.
    const ignore = (): void => {};
    send("Inspector.enable").catch(ignore);
    send("Page.enable").catch(ignore);
    // Without it a browser with a screen opens a window that nobody can close.
    send("Page.setInterceptFileChooserDialog", { enabled: true, cancel: true }).catch(ignore);
    send("Page.setLifecycleEventsEnabled", { enabled: true }).then(() => {
      this.#isEnabled = true;
      this.loads.wake();
    }, ignore);
  }

  async #attach(targetId: string, gone: Promise<never>): Promise<Attached> {
    const session = await this.tabs.cdp.attach(targetId, this.tabs);
    return new Attached({ session, signal: this.tabs.signal, gone });
  }

  /** As browsers' automation does without being asked: a page may be left, everything else is declined. */
  #answer({ type, message }: Record<string, unknown>): void {
    const accept = type === "beforeunload";
    const answered = this.#session.send("Page.handleJavaScriptDialog", { accept }, this.tabs);
    // Another client of the browser was faster, or the tab has gone.
    answered.catch(() => {});
    if (this.#dialogs.length >= MOST_DIALOGS) return;
    const text = String(message).slice(0, MESSAGE_LENGTH);
    this.#dialogs.push({ type: String(type), message: text });
  }
}

const CRASHED = new ToolError(
  "PageCrashed",
  "The page's process has crashed. Open the page, or another one, with svc_browser_navigate: the browser itself and its cookies are well.",
);
/** The refusal of a page that does not answer. */
export const SILENT = new ToolError(
  "Timeout",
  "The page does not answer: one of its scripts runs without an end. svc_browser_navigate leaves it.",
);
const CLOSED = new ToolError(
  "PageClosed",
  "The tab has closed meanwhile. Call again: the tab that was opened before it is used then.",
);
