import type { PageAsks } from "@svc/contract/browser/take-over.ts";
import { part, tell } from "./view.ts";

type Asks = Extract<PageAsks, { type: "dialog" }>;

/** The dialogs of the page: shown in one of this page's own, and answered by its buttons. */
export class PageDialog {
  readonly #box = part("dialog", "dialog");
  readonly #text = part("input", "dialog-text");

  constructor(answer: (message: object) => void) {
    const close = (action: "accept" | "dismiss"): void => {
      if (!this.#box.open) return;
      const isPrompt = !part("label", "dialog-answer").hidden;
      this.#box.close();
      const text = action === "accept" && isPrompt && { text: this.#text.value };
      answer({ type: "dialog", action, ...text });
    };
    part("button", "dialog-yes").addEventListener("click", () => close("accept"));
    part("button", "dialog-no").addEventListener("click", () => close("dismiss"));
    this.#box.addEventListener("cancel", (event) => {
      event.preventDefault();
      close("dismiss");
    });
    this.#box.querySelector("form")?.addEventListener("submit", (event) => {
      event.preventDefault();
      close("accept");
    });
  }

  show({ kind, message = "", text = "" }: Asks): void {
    if (kind === "gone") return this.#box.close();
    const isLeaving = kind === "beforeunload";
    tell(part("p", "dialog-message"), isLeaving ? "Leave this page?" : message);
    part("label", "dialog-answer").hidden = kind !== "prompt";
    part("button", "dialog-no").hidden = kind === "alert";
    this.#text.value = text;
    if (!this.#box.open) this.#box.showModal();
  }
}
