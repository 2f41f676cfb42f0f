import { randomBytes } from "node:crypto";
import * as z from "zod";
import type { JsonObject } from "./envelope.ts";
import type { CdpMux } from "./mux.ts";
import { type CdpEvent, OwnClient } from "./own-client.ts";
import { RESUME } from "./starts.ts";

const Attached = z.object({
  sessionId: z.string(),
  targetInfo: z.object({ targetId: z.string(), parentFrameId: z.string().optional() }),
});
const Frame = z.object({
  id: z.string(),
  parentId: z.string().optional(),
  url: z.string().optional(),
});
const Called = z.object({ name: z.string(), payload: z.string(), executionContextId: z.number() });

/** A document, by the isolated world that the script runs in. */
export interface WatchedDocument {
  sessionId: string;
  contextId: number;
}

/** A script that runs in every document. Pages cannot see it, nor change what it uses. */
export interface PageScript {
  /** The name of its isolated world. */
  world: string;
  /** Its text. It tells by the global function of this name. */
  source: (binding: string) => string;
  /** Whether a new page waits until the script is in it. */
  isAwaited: boolean;
}

/** Where something was told. The frame is unknown of a document that has gone meanwhile. */
export interface Teller {
  tab: string;
  frameId: string | null;
  document: WatchedDocument;
}

export interface PagesListener {
  /** The script of a document has told something. */
  told: (text: string, teller: Teller) => void;
  /** A document has come. It is waited for before the document can tell anything. */
  came?: (document: WatchedDocument) => Promise<void>;
  /** An event of a page that has to do with no frame's coming or going. */
  heard: (event: CdpEvent) => void;
  /** A tab has come, or goes to another page. */
  turned?: (tab: string) => void;
  /** A tab has gone. */
  closed?: (tab: string) => void;
}

/**
 * Has a script in every page, popup and frame of a browser, whoever drives it, and knows all their documents. No domain is
 * enabled whose work a page could notice. Workers have nothing to show: they are not attached to, and not stopped for it.
 */
export class WatchedPages {
  /** By frame. */
  readonly documents = new Map<string, WatchedDocument>();
  readonly #script: PageScript;
  readonly #listener: PagesListener;
  readonly #client: OwnClient;
  readonly #binding = `_${randomBytes(8).toString("hex")}`;
  readonly #attach: JsonObject;
  /** Of each session, the tab that it belongs to. */
  readonly #tabs = new Map<string, string>();
  /** Of each frame, the one that it is in. */
  readonly #parents = new Map<string, string>();
  /** Of each tab, the origin of its page. */
  readonly #origins = new Map<string, string>();
  /** Documents that have come and cannot be asked yet, by frame. */
  readonly #coming = new Map<string, Promise<void>>();
  /** The text that runs after the script in documents to come, and the name of that text in each session. */
  #also: string | null = null;
  #added = new Map<string, Promise<JsonObject>>();

  constructor(mux: CdpMux, script: PageScript, listener: PagesListener) {
    this.#script = script;
    this.#listener = listener;
    this.#client = new OwnClient(mux, (event) => this.#hear(event));
    this.#attach = {
      autoAttach: true,
      waitForDebuggerOnStart: script.isAwaited,
      flatten: true,
      filter: [{ type: "page" }, { type: "iframe" }, { exclude: true }],
    };
  }

  /** Begins with the pages that are there. Rejects when the browser dies meanwhile. */
  async open(): Promise<void> {
    await this.#client.open();
    await this.#client.call("Target.setAutoAttach", this.#attach);
  }

  /** Lets go of the browser at once. */
  close(): void {
    this.documents.clear();
    this.#tabs.clear();
    this.#parents.clear();
    this.#origins.clear();
    this.#client.close();
  }

  /** The tab that a session belongs to; null once that has gone. */
  tabOf(sessionId: string | null): string | null {
    return (sessionId !== null && this.#tabs.get(sessionId)) || null;
  }

  /** Whether a tab that goes to this URL stays in its only process, as far as can be known, and its document can be asked. */
  keepsProcess(tab: string, url: string): boolean {
    if (this.#coming.has(tab)) return false;
    const origin = URL.parse(url)?.origin;
    const isAlone = [...this.#tabs.values()].filter((each) => each === tab).length === 1;
    return isAlone && origin?.startsWith("http") === true && origin === this.#origins.get(tab);
  }

  /** The frame that a frame is in; undefined of a page. */
  parentOf(frameId: string): string | undefined {
    return this.#parents.get(frameId);
  }

  /** Resolves once all documents that have come can be asked, or that of one frame. */
  async come(frameId?: string): Promise<void> {
    if (frameId !== undefined) return this.#coming.get(frameId);
    await Promise.all(this.#coming.values());
  }

  /** Has a text run in each document to come, after the script; null: nothing. In force when this resolves. */
  async also(text: string | null): Promise<void> {
    const former = this.#added;
    this.#added = new Map();
    this.#also = text;
    const added = [...this.#tabs.keys()].map((sessionId) => this.#add(sessionId));
    const removed = [...former].map(async ([sessionId, script]) => {
      const { identifier } = await script;
      await this.call("Page.removeScriptToEvaluateOnNewDocument", { identifier }, sessionId);
    });
    await Promise.all([...added, ...removed]);
  }

  async #add(sessionId: string): Promise<void> {
    if (this.#also === null) return;
    const script = { source: this.#also, worldName: this.#script.world };
    const added = this.call("Page.addScriptToEvaluateOnNewDocument", script, sessionId);
    this.#added.set(sessionId, added);
    await added;
  }

  /** Rejects when the target has ended, or has gone on to another document. */
  ask(method: string, params: JsonObject, sessionId: string): Promise<JsonObject> {
    return this.#client.call(method, params, sessionId);
  }

  /** The answer; an empty one where `ask` rejects. */
  call(method: string, params: JsonObject, sessionId: string): Promise<JsonObject> {
    return this.ask(method, params, sessionId).catch(() => ({}));
  }

  /** Finds the document that a frame has now, and lets its script tell. */
  connect(frameId: string, sessionId: string): Promise<void> {
    const coming = this.#reach(frameId, sessionId).finally(() => {
      if (this.#coming.get(frameId) === coming) this.#coming.delete(frameId);
    });
    this.#coming.set(frameId, coming);
    return coming;
  }

  async #reach(frameId: string, sessionId: string): Promise<void> {
    const world = { frameId, worldName: this.#script.world };
    const { executionContextId: contextId } = await this.call(
      "Page.createIsolatedWorld",
      world,
      sessionId,
    );
    if (typeof contextId !== "number" || !this.#tabs.has(sessionId)) return;
    const document = { sessionId, contextId };
    this.documents.set(frameId, document);
    await this.#listener.came?.(document);
    const binding = { name: this.#binding, executionContextId: contextId };
    await this.call("Runtime.addBinding", binding, sessionId);
  }

  #hear(event: CdpEvent): void {
    const { method, params, sessionId } = event;
    switch (method) {
      case "Target.attachedToTarget":
        return this.#attached(Attached.safeParse(params).data, sessionId);
      case "Target.detachedFromTarget":
        return this.#forget(String(params.sessionId));
      case "Page.frameNavigated":
        return this.#navigated(Frame.safeParse(params.frame).data, sessionId);
      case "Page.frameDetached":
        // A frame that goes into a process of its own stays where it is.
        if (params.reason !== "swap") this.#parents.delete(String(params.frameId));
        return this.#leave(String(params.frameId), sessionId);
      case "Runtime.bindingCalled":
        return this.#called(Called.safeParse(params).data, sessionId);
      default:
        this.#listener.heard(event);
    }
  }

  #attached(attached: z.infer<typeof Attached> | undefined, parent: string | null): void {
    if (!attached) return;
    const { sessionId, targetInfo } = attached;
    const { targetId, parentFrameId } = targetInfo;
    if (parentFrameId !== undefined) this.#parents.set(targetId, parentFrameId);
    const tab = this.tabOf(parent) ?? targetId;
    this.#tabs.set(sessionId, tab);
    if (tab === targetId) this.#listener.turned?.(tab);
    const source = this.#script.source(this.#binding);
    const script = { source, worldName: this.#script.world, runImmediately: true };
    // Nobody waits for answers: a target that is stopped gives none before it runs.
    void this.call("Page.enable", {}, sessionId);
    void this.call("Page.addScriptToEvaluateOnNewDocument", script, sessionId);
    void this.#add(sessionId);
    void this.call("Target.setAutoAttach", this.#attach, sessionId);
    if (this.#script.isAwaited) void this.call(RESUME, {}, sessionId);
    // The frame of a target has the target's name.
    void this.connect(targetId, sessionId);
  }

  #navigated(frame: z.infer<typeof Frame> | undefined, sessionId: string | null): void {
    if (!frame || sessionId === null) return;
    if (frame.parentId !== undefined) this.#parents.set(frame.id, frame.parentId);
    if (frame.id === this.tabOf(sessionId)) {
      this.#origins.set(frame.id, URL.parse(frame.url ?? "")?.origin ?? "");
      this.#listener.turned?.(frame.id);
    }
    void this.connect(frame.id, sessionId);
  }

  #called(called: z.infer<typeof Called> | undefined, sessionId: string | null): void {
    const tab = this.tabOf(sessionId);
    if (!called || tab === null || sessionId === null || called.name !== this.#binding) return;
    const { executionContextId: contextId, payload } = called;
    const frameId = this.#frameOf(contextId, sessionId);
    this.#listener.told(payload, { tab, frameId, document: { sessionId, contextId } });
  }

  #frameOf(contextId: number, sessionId: string | null): string | null {
    for (const [frameId, document] of this.documents)
      if (document.contextId === contextId && document.sessionId === sessionId) return frameId;
    return null;
  }

  #forget(sessionId: string): void {
    const tab = this.tabOf(sessionId);
    this.#tabs.delete(sessionId);
    this.#added.delete(sessionId);
    for (const [frameId, document] of this.documents) {
      if (document.sessionId !== sessionId) continue;
      this.documents.delete(frameId);
      this.#parents.delete(frameId);
    }
    if (tab === null || [...this.#tabs.values()].includes(tab)) return;
    this.#origins.delete(tab);
    this.#listener.closed?.(tab);
  }

  /** The frame has gone, or is another session's by now. */
  #leave(frameId: string, sessionId: string | null): void {
    if (this.documents.get(frameId)?.sessionId === sessionId) this.documents.delete(frameId);
  }
}
