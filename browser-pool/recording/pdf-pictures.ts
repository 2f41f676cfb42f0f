import { setTimeout as wait } from "node:timers/promises";
import * as z from "zod";
import type { JsonObject } from "../cdp/envelope.ts";
import type { WatchedDocument, WatchedPages } from "../cdp/watched-pages.ts";
import { RECORDER } from "./page-script.ts";

/** How long the browser rests between two pictures of its screen: each takes it some 50 ms. */
const REST_MS = 500;

/** Gives a document the picture of the screen that it has asked for, and its own place in there; an empty text: there is none. */
const screenGiven = (data: string, left: number, top: number): string =>
  `globalThis.${RECORDER}?.screenGiven(${JSON.stringify([data, left, top])})`;

/** A place in the viewport of its tab. */
const Place = z.tuple([z.number(), z.number()]);
type Place = z.infer<typeof Place>;

const Owner = z.object({ backendNodeId: z.number() });
const Resolved = z.object({ object: z.object({ objectId: z.string() }) });
const Called = z.object({ result: z.object({ value: Place }) });
const Screen = z.object({ data: z.string() });

/**
 * Where the content of a frame begins in the document that it is in, by its element there. Null where something lies over it, or next to it
 * where it is turned or made smaller: a picture of the screen would show that too, a field that is masked for example.
 */
const PLACE = `function () {
  const { left, top, right, bottom, width, height } = this.getBoundingClientRect();
  if (Math.abs(width - this.offsetWidth) > 1 || Math.abs(height - this.offsetHeight) > 1) return null;
  const root = this.getRootNode();
  // The viewer's own page has nothing to hide.
  if (location.protocol !== "chrome-extension:")
    for (let y = Math.max(top, 0) + 2; y < Math.min(bottom, innerHeight) - 2; y += 16)
      for (let x = Math.max(left, 0) + 2; x < Math.min(right, innerWidth) - 2; x += 64)
        if (root.elementFromPoint(x, y) !== this) return null;
  return [left + this.clientLeft, top + this.clientTop];
}`;

/** Brings pictures of the screen to documents of the PDF viewer, which cut and tell them as those of a canvas. One at a time. */
export class PdfPictures {
  readonly #pages: WatchedPages;
  readonly #asked = new Set<string>();
  #turn: Promise<void> = Promise.resolve();

  constructor(pages: WatchedPages) {
    this.#pages = pages;
  }

  /** The document of a frame asks for a picture. */
  ask(frameId: string): void {
    if (this.#asked.has(frameId)) return;
    this.#asked.add(frameId);
    this.#turn = this.#turn.then(async () => {
      await this.#bring(frameId);
      this.#asked.delete(frameId);
      await wait(REST_MS, undefined, { ref: false });
    });
  }

  /** The document always gets an answer: it does not ask again before. */
  async #bring(frameId: string): Promise<void> {
    const document = this.#pages.documents.get(frameId);
    if (!document) return;
    const { sessionId, contextId } = document;
    const picture = await this.#take(frameId).catch(() => null);
    const expression = picture
      ? screenGiven(picture.data, ...picture.place)
      : screenGiven("", 0, 0);
    await this.#pages.call("Runtime.evaluate", { expression, contextId }, sessionId);
  }

  async #take(frameId: string): Promise<{ data: string; place: Place } | null> {
    const before = await this.#placeOf(frameId);
    const kind = { format: "jpeg", quality: 80, optimizeForSpeed: true };
    const answer = await this.#pages.ask("Page.captureScreenshot", kind, before.sessionId);
    const after = await this.#placeOf(frameId);
    // A frame that has moved meanwhile is not where the picture would be cut.
    if (String(after.place) !== String(before.place)) return null;
    return { data: Screen.parse(answer).data, place: before.place };
  }

  /** Where the content of a frame begins in its tab, and the tab's session. Rejects where that cannot be known, or seen. */
  async #placeOf(frameId: string): Promise<{ place: Place; sessionId: string }> {
    const place: Place = [0, 0];
    let [inner, outer] = [frameId, this.#pages.parentOf(frameId)];
    while (outer !== undefined) {
      const [left, top] = await this.#placeIn(this.#documentOf(outer), inner);
      place[0] += left;
      place[1] += top;
      [inner, outer] = [outer, this.#pages.parentOf(outer)];
    }
    const { sessionId } = this.#documentOf(inner);
    return { place, sessionId };
  }

  #documentOf(frameId: string): WatchedDocument {
    const document = this.#pages.documents.get(frameId);
    if (!document) throw new Error("the document has gone");
    return document;
  }

  async #placeIn({ sessionId, contextId }: WatchedDocument, frameId: string): Promise<Place> {
    const ask = (method: string, params: JsonObject): Promise<JsonObject> =>
      this.#pages.ask(method, params, sessionId);
    const { backendNodeId } = Owner.parse(await ask("DOM.getFrameOwner", { frameId }));
    const node = { backendNodeId, executionContextId: contextId };
    const { objectId } = Resolved.parse(await ask("DOM.resolveNode", node)).object;
    const call = { objectId, functionDeclaration: PLACE, returnByValue: true };
    const answer = await ask("Runtime.callFunctionOn", call);
    void this.#pages.call("Runtime.releaseObject", { objectId }, sessionId);
    return Called.parse(answer).result.value;
  }
}
