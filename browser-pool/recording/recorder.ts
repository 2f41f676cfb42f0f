import { LATE, inTime } from "@svc/host-kit/deadline.ts";
import * as z from "zod";
import type { ClientCall } from "../cdp/call.ts";
import type { CdpMux } from "../cdp/mux.ts";
import type { CdpEvent } from "../cdp/own-client.ts";
import { type WatchedDocument, WatchedPages } from "../cdp/watched-pages.ts";
import { Hiding } from "./hiding.ts";
import { AGAIN, WORLD, take } from "./page-script.ts";
import { PdfPictures } from "./pdf-pictures.ts";
import { ASK } from "./pdf-script.ts";
import { PICTURE } from "./pictures-script.ts";
import { customLine } from "./replay-file.ts";
import { eventsOf, isStill } from "./still.ts";

/** How long pages are waited for that are to give their last events: a page may be busy, or stand at a dialog. */
const LAST_MS = 2_500;
/** The same where a client waits that has asked for something else. */
const AHEAD_MS = 250;
/** The parts of LAST_MS and AHEAD_MS in which pages may wait for their last pictures. */
const LAST_PICTURES_MS = 1_000;
const PICTURES_AHEAD_MS = 100;
/** The part of a replay that pictures may take: a page that moves for hours leaves room for the rest. */
const PICTURE_CHARACTERS = 64 * 1024 ** 2;
const PICTURE_HEAD = `{"type":5,"data":{"tag":"${PICTURE}"`;

const Frame = z.object({ id: z.string() });
const Navigation = z.object({ frameId: z.string(), url: z.string() });

/** Takes a line of a replay. */
export type Sink = (line: string) => void;

/** Records every page, popup and frame of a browser, whoever drives it. */
export class Recorder {
  readonly #pages: WatchedPages;
  readonly #pdfs: PdfPictures;
  readonly #hiding: Hiding;
  readonly #sink: Sink;
  /** Texts that wait for a still which is unpacked: lines come in the order in which they were told. */
  #unpacking = 0;
  #order: Promise<void> = Promise.resolve();
  #pictureCharacters = 0;

  private constructor(mux: CdpMux, source: (binding: string) => string, sink: Sink) {
    const script = { world: WORLD, source, isAwaited: true };
    this.#pages = new WatchedPages(mux, script, {
      told: (text, { tab, frameId, document }) => {
        if (!this.#hiding.isUnsure(document)) this.#add(text, tab, frameId ?? tab);
      },
      came: (document) => this.#hiding.came(document),
      heard: (event) => void this.#heard(event),
    });
    this.#pdfs = new PdfPictures(this.#pages);
    this.#hiding = new Hiding(this.#pages, (text, frameId, { sessionId }) => {
      const tab = this.#pages.tabOf(sessionId);
      if (tab !== null) this.#add(text, tab, frameId);
    });
    this.#sink = sink;
  }

  /** Begins with the pages that are there. `source`: the page script that gives its lines to this binding. */
  static async start(
    mux: CdpMux,
    source: (binding: string) => string,
    sink: Sink,
  ): Promise<Recorder> {
    const recorder = new Recorder(mux, source, sink);
    await recorder.#pages.open();
    mux.beforeClosing((call) => recorder.#beforeClosing(call));
    return recorder;
  }

  /** Takes the last events of all pages and lets go of the browser. False: a page was too slow to give them. */
  async stop(): Promise<boolean> {
    const taken = await inTime(this.#takeLast(), LAST_MS);
    this.close();
    await this.#order;
    return taken !== LATE;
  }

  /** Hides all that is typed from now on, or no longer. In force when this resolves. */
  hideInput(isHidden: boolean): Promise<void> {
    return this.#hiding.set(isHidden);
  }

  /** Lets go of the browser at once. */
  close(): void {
    this.#pages.close();
  }

  /** The events of a page that is closed would be lost with it. */
  #beforeClosing(call: ClientCall | null): Promise<void> | null {
    if (this.#takeAhead(call)) return null;
    return this.#orGap(this.#takeAll(PICTURES_AHEAD_MS).then(() => true));
  }

  /**
   * Asks the document of a page that goes elsewhere on its own site for its events, and lets the page go: a document that is asked first
   * answers before the next one can come, unless it is busy for longer than that takes. False: all have to wait for it.
   */
  #takeAhead(call: ClientCall | null): boolean {
    const to = call?.method === "Page.navigate" ? Navigation.safeParse(call.params).data : null;
    const document = to && this.#pages.documents.get(to.frameId);
    if (!document || !this.#pages.keepsProcess(to.frameId, to.url)) return false;
    void this.#orGap(this.#take(to.frameId, document, 0));
    return true;
  }

  /** Tells of a gap where events are not taken in time. */
  async #orGap(taking: Promise<boolean>): Promise<void> {
    if ((await inTime(taking, AHEAD_MS)) !== true)
      this.#sink(customLine("svc.gap", {}, Date.now()));
  }

  async #takeAll(picturesMs: number): Promise<void> {
    await this.#pages.come();
    const documents = [...this.#pages.documents];
    await Promise.all(
      documents.map(([frameId, document]) => this.#take(frameId, document, picturesMs)),
    );
  }

  /** The same of the documents that are there now, also where nobody has told of them yet. */
  async #takeLast(): Promise<void> {
    const frames = [...this.#pages.documents];
    await Promise.all(
      frames.map(([frameId, { sessionId }]) => this.#pages.connect(frameId, sessionId)),
    );
    await this.#takeAll(LAST_PICTURES_MS);
  }

  /** False: the document has gone. */
  async #take(
    frameId: string,
    { sessionId, contextId }: WatchedDocument,
    picturesMs: number,
  ): Promise<boolean> {
    const tab = this.#pages.tabOf(sessionId);
    const ask = {
      expression: take(picturesMs),
      contextId,
      returnByValue: true,
      awaitPromise: true,
    };
    const { result } = await this.#pages.call("Runtime.evaluate", ask, sessionId);
    const { value } = (result ?? {}) as { value?: unknown };
    if (typeof value !== "string" || tab === null) return false;
    if (!this.#hiding.isUnsure({ sessionId, contextId })) this.#add(value, tab, frameId);
    return true;
  }

  #add(text: string, tab: string, frameId: string): void {
    // The frame of a page has the name of the page.
    const where = frameId === tab ? "" : `,"frameId":${JSON.stringify(frameId)}`;
    const end = `,"tabId":${JSON.stringify(tab)}${where}}`;
    const lines = text.split("\n");
    if (lines.includes(ASK)) this.#pdfs.ask(frameId);
    if (this.#unpacking === 0 && !lines.some(isStill)) return this.#write(lines, end);
    this.#unpacking += 1;
    const unpack = async (): Promise<void> => {
      for (const line of lines) this.#write(isStill(line) ? await eventsOf(line) : [line], end);
      this.#unpacking -= 1;
    };
    this.#order = this.#order.then(unpack);
  }

  #write(lines: string[], end: string): void {
    for (const line of lines)
      if (line.startsWith('{"') && line.endsWith("}") && this.#hasRoom(line))
        this.#sink(line.slice(0, -1) + end);
  }

  #hasRoom(line: string): boolean {
    if (!line.startsWith(PICTURE_HEAD)) return true;
    this.#pictureCharacters += line.length;
    return this.#pictureCharacters <= PICTURE_CHARACTERS;
  }

  /** A page script that has begun with the document before begins again. */
  async #heard({ method, params, sessionId }: CdpEvent): Promise<void> {
    const frame = Frame.safeParse(params["frame"]).data;
    if (method !== "Page.documentOpened" || !frame || sessionId === null) return;
    await this.#pages.connect(frame.id, sessionId);
    const contextId = this.#pages.documents.get(frame.id)?.contextId;
    if (contextId === undefined) return;
    await this.#pages.call("Runtime.evaluate", { expression: AGAIN, contextId }, sessionId);
  }
}
