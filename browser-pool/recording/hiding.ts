import { LIMITS } from "@svc/contract/limits.ts";
import { inTime } from "@svc/host-kit/deadline.ts";
import type { WatchedDocument, WatchedPages } from "../cdp/watched-pages.ts";
import { SHOW, hide } from "./page-script.ts";

/** Takes the lines that a document gave when it was told to hide. */
type Take = (text: string, frameId: string, document: WatchedDocument) => void;

/**
 * Has all documents of a browser hide what is typed, and new ones from their first moment on. A document that does not confirm it in
 * time is not believed until it does: it may be too busy to hear of it while somebody types in it.
 */
export class Hiding {
  readonly #pages: WatchedPages;
  readonly #take: Take;
  #isOn = false;
  /** Whether documents were ever told to hide: until then they are told nothing. */
  #wasOn = false;
  #settled: Promise<void> = Promise.resolve();
  /** Documents that may show what is to be hidden. */
  readonly #unsure = new Set<string>();

  constructor(pages: WatchedPages, take: Take) {
    this.#pages = pages;
    this.#take = take;
  }

  /** Whether what a document tells may show what is to be hidden. */
  isUnsure(document: WatchedDocument): boolean {
    return this.#unsure.has(nameOf(document));
  }

  /** In force when this resolves, within `LIMITS.hidingMs`. */
  set(isOn: boolean): Promise<void> {
    if (isOn === this.#isOn) return this.#settled;
    this.#isOn = isOn;
    this.#wasOn = true;
    this.#settled = isOn ? this.#hide() : this.#show();
    return this.#settled;
  }

  /** A document has come, perhaps from before the others were told. */
  async came(document: WatchedDocument): Promise<void> {
    if (!this.#wasOn) return;
    if (this.#isOn) this.#unsure.add(nameOf(document));
    await this.#tell(document, this.#isOn ? hide(0) : SHOW);
  }

  async #hide(): Promise<void> {
    const text = hide(Date.now() + LIMITS.hidingMs);
    const waiting = new Set<string>();
    const told = [...this.#pages.documents].map(async ([frameId, document]) => {
      waiting.add(nameOf(document));
      const lines = await this.#tell(document, text);
      if (lines !== null) waiting.delete(nameOf(document));
      if (lines) this.#take(lines, frameId, document);
    });
    await inTime(Promise.all([...told, this.#pages.also(hide(0))]), LIMITS.hidingMs);
    // A document that has answered since then hides already.
    for (const name of waiting) this.#unsure.add(name);
  }

  async #show(): Promise<void> {
    const told = [...this.#pages.documents.values()].map((document) => this.#tell(document, SHOW));
    await inTime(Promise.all([...told, this.#pages.also(null)]), LIMITS.hidingMs);
  }

  /** Tells a document something and gives its answer; null where the document is gone, or has failed. */
  async #tell(document: WatchedDocument, expression: string): Promise<string | null> {
    const { sessionId, contextId } = document;
    const ask = { expression, contextId, returnByValue: true };
    const { result, exceptionDetails } = await this.#pages.call("Runtime.evaluate", ask, sessionId);
    if (!result || exceptionDetails) return null;
    this.#unsure.delete(nameOf(document));
    const { value } = result as { value?: unknown };
    return typeof value === "string" ? value : "";
  }
}

const nameOf = ({ sessionId, contextId }: WatchedDocument): string => `${sessionId} ${contextId}`;
