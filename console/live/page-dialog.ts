import type { PageAsks } from "@svc/contract/browser/take-over.ts";
import type { ObservedPage } from "@svc/contract/browser/observer.ts";
import { part, placeOf, tell } from "./view.ts";

type Asks = Extract<PageAsks, { type: "dialog" }>;

/**
 * The dialogs of the page: shown over the picture, and answered by the buttons of one of this page's own. The page may ask
 * without end: this page's own buttons stay in reach.
 */
export class PageDialog {
  readonly #box = part("dialog", "dialog");
  readonly #text = part("input", "dialog-text");

  constructor(answer: (message: object) => void) {
    const close = (action: "accept" | "dismiss"): void => {
      if (!this.#box.open) return;
      const isPrompt = !part("label", "dialog-answer").hidden;
      this.close();
      const text = action === "accept" && isPrompt && { text: this.#text.value };
      answer({ type: "dialog", action, ...text });
    };
    part("button", "dialog-yes").addEventListener("click", () => close("accept"));
    part("button", "dialog-no").addEventListener("click", () => close("dismiss"));
    this.#box.addEventListener("keydown", ({ key, isComposing }) => {
      if (key === "Escape" && !isComposing) close("dismiss");
    });
    this.#box.querySelector("form")?.addEventListener("submit", (event) => {
      event.preventDefault();
      close("accept");
    });
  }

  /** `page`: the one that asks. */
  show({ kind, message = "", text = "" }: Asks, page: ObservedPage | undefined): void {
    if (kind === "gone") return this.close();
    tell(part("p", "dialog-from"), `The page at ${placeOf(page)} says:`);
    const isLeaving = kind === "beforeunload";
    tell(part("p", "dialog-message"), isLeaving ? "Leave this page?" : message);
    part("label", "dialog-answer").hidden = kind !== "prompt";
    part("button", "dialog-no").hidden = kind === "alert";
    this.#text.value = text;
    if (!this.#box.open) this.#box.show();
    part("textarea", "keys").inert = true;
  }

  close(): void {
    part("textarea", "keys").inert = false;
    this.#box.close();
  }
}
