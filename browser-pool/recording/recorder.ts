import { randomBytes } from "node:crypto";
import { inTime } from "@svc/host-kit/deadline.ts";
import * as z from "zod";
import type { JsonObject } from "../cdp/envelope.ts";
import type { CdpMux } from "../cdp/mux.ts";
import { type CdpEvent, OwnClient } from "../cdp/own-client.ts";
import { RESUME } from "../cdp/starts.ts";
import { AGAIN, TAKE, WORLD } from "./page-script.ts";

/** Workers have nothing to show: they are not attached to, and not stopped for it. */
const ATTACH = {
  autoAttach: true,
  waitForDebuggerOnStart: true,
  flatten: true,
  filter: [{ type: "page" }, { type: "iframe" }, { exclude: true }],
};

/** How long pages are waited for that are to give their last events: a page may be busy, or stand at a dialog. */
const LAST_MS = 2_500;
/** The same where a client waits that has asked for something else. */
const AHEAD_MS = 250;

const Attached = z.object({
  sessionId: z.string(),
  targetInfo: z.object({ targetId: z.string(), type: z.string() }),
});
const Frame = z.object({ id: z.string() });
const Called = z.object({ name: z.string(), payload: z.string(), executionContextId: z.number() });

/** A document with a recorder in it. */
interface Recorded {
  sessionId: string;
  contextId: number;
}

/** Takes a line of a replay. */
export type Sink = (line: string) => void;

/**
 * Records every page, popup and frame of a browser, whoever drives it. The recorder of a document runs in an isolated
 * world: no page sees it, and none can change what it uses. No domain is enabled whose work a page could notice.
 */
export class Recorder {
  readonly #client: OwnClient;
  readonly #binding = `_${randomBytes(8).toString("hex")}`;
  readonly #script: string;
  readonly #sink: Sink;
  /** Of each session, the page that it belongs to. */
  readonly #tabs = new Map<string, string>();
  /** By frame. */
  readonly #documents = new Map<string, Recorded>();
  /** Documents that have come and cannot be asked yet. */
  readonly #coming = new Set<Promise<void>>();

  private constructor(mux: CdpMux, script: (binding: string) => string, sink: Sink) {
    this.#client = new OwnClient(mux, (event) => this.#hear(event));
    this.#script = script(this.#binding);
    this.#sink = sink;
  }

  /** Begins with the pages that are there. `script`: the page script that gives its lines to this binding. */
  static async start(
    mux: CdpMux,
    script: (binding: string) => string,
    sink: Sink,
  ): Promise<Recorder> {
    const recorder = new Recorder(mux, script, sink);
    await recorder.#client.open();
    await recorder.#client.call("Target.setAutoAttach", ATTACH);
    // The events of a page that is closed would be lost with it.
    mux.beforeClosing(async () => void (await inTime(recorder.#takeAll(), AHEAD_MS)));
    return recorder;
  }

  /** Takes the last events of all pages and lets go of the browser. */
  async stop(): Promise<void> {
    await inTime(this.#takeLast(), LAST_MS);
    this.close();
  }

  /** Lets go of the browser at once. */
  close(): void {
    this.#documents.clear();
    this.#client.close();
  }

  async #takeAll(): Promise<void> {
    await Promise.all(this.#coming);
    const documents = [...this.#documents];
    await Promise.all(documents.map(([frameId, recorded]) => this.#take(frameId, recorded)));
  }

  /** The same of the documents that are there now, also where nobody has told of them yet. */
  async #takeLast(): Promise<void> {
    const frames = [...this.#documents];
    await Promise.all(frames.map(([frameId, { sessionId }]) => this.#record(frameId, sessionId)));
    await this.#takeAll();
  }

  async #take(frameId: string, { sessionId, contextId }: Recorded): Promise<void> {
    const tab = this.#tabs.get(sessionId);
    const ask = { expression: TAKE, contextId, returnByValue: true };
    const { result } = await this.#call("Runtime.evaluate", ask, sessionId);
    const { value } = (result ?? {}) as { value?: unknown };
    if (typeof value === "string" && tab !== undefined) this.#add(value, tab, frameId);
  }

  #add(text: string, tab: string, frameId: string): void {
    // The frame of a page has the name of the page.
    const where = frameId === tab ? "" : `,"frameId":${JSON.stringify(frameId)}`;
    for (const line of text.split("\n"))
      if (line.startsWith('{"') && line.endsWith("}"))
        this.#sink(`${line.slice(0, -1)},"tabId":${JSON.stringify(tab)}${where}}`);
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
      case "Page.documentOpened":
        void this.#opened(Frame.safeParse(params.frame).data, sessionId);
        return;
      case "Page.frameDetached":
        this.#leave(String(params.frameId), sessionId);
        return;
      case "Runtime.bindingCalled":
        this.#called(Called.safeParse(params).data, sessionId);
    }
  }

  #attached(attached: z.infer<typeof Attached> | undefined, parent: string | null): void {
    if (!attached) return;
    const { sessionId, targetInfo } = attached;
    this.#tabs.set(sessionId, (parent && this.#tabs.get(parent)) ?? targetInfo.targetId);
    const source = { source: this.#script, worldName: WORLD, runImmediately: true };
    // Nobody waits for answers: a target that is stopped gives none before it runs.
    void this.#call("Page.enable", {}, sessionId);
    void this.#call("Page.addScriptToEvaluateOnNewDocument", source, sessionId);
    void this.#call("Target.setAutoAttach", ATTACH, sessionId);
    void this.#call(RESUME, {}, sessionId);
    // The frame of a target has the target's name.
    void this.#record(targetInfo.targetId, sessionId);
  }

  #navigated(frame: z.infer<typeof Frame> | undefined, sessionId: string | null): void {
    if (frame && sessionId !== null) void this.#record(frame.id, sessionId);
  }

  /** Lets the recorder of the frame's document, which the page script has started, give its lines. */
  #record(frameId: string, sessionId: string): Promise<void> {
    const coming = this.#connect(frameId, sessionId).finally(() => this.#coming.delete(coming));
    this.#coming.add(coming);
    return coming;
  }

  async #connect(frameId: string, sessionId: string): Promise<void> {
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

  /** A page script that has begun with the document before begins again. */
  async #opened(frame: z.infer<typeof Frame> | undefined, sessionId: string | null): Promise<void> {
    if (!frame || sessionId === null) return;
    await this.#record(frame.id, sessionId);
    const contextId = this.#documents.get(frame.id)?.contextId;
    if (contextId === undefined) return;
    await this.#call("Runtime.evaluate", { expression: AGAIN, contextId }, sessionId);
  }

  #called(called: z.infer<typeof Called> | undefined, sessionId: string | null): void {
    const tab = sessionId === null ? undefined : this.#tabs.get(sessionId);
    if (!called || tab === undefined || called.name !== this.#binding) return;
    this.#add(called.payload, tab, this.#frameOf(called.executionContextId, sessionId) ?? tab);
  }

  #frameOf(contextId: number, sessionId: string | null): string | undefined {
    for (const [frameId, recorded] of this.#documents)
      if (recorded.contextId === contextId && recorded.sessionId === sessionId) return frameId;
    return undefined;
  }

  #forget(sessionId: string): void {
    this.#tabs.delete(sessionId);
    for (const frameId of this.#documents.keys()) this.#leave(frameId, sessionId);
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
