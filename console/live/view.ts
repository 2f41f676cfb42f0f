import type { ObservedPage } from "@svc/contract/browser/observer.ts";
import type { Outcome } from "./link.ts";

/** An element of the page (src/console/live.ts), which has it. */
export function part<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  id: string,
): HTMLElementTagNameMap[Name] {
  const found = document.querySelector<HTMLElementTagNameMap[Name]>(`${name}#${id}`);
  if (!found) throw new Error(`the page has no ${name}#${id}`);
  return found;
}

/** Shows a text, always as plain text; none hides its place. */
export function tell(place: HTMLElement, text: string): void {
  place.textContent = text;
  place.hidden = text === "";
}

const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/** The name of the page's host, which a person is to know before they type a password. */
export function showPlace(page: ObservedPage | undefined): void {
  const url = page && URL.canParse(page.url) ? new URL(page.url) : null;
  part("h1", "host").textContent = url?.host || "a blank page";
  const isPlain = url?.protocol === "http:" && !LOOPBACK.test(url.hostname);
  tell(
    part("p", "warning"),
    isPlain ? "Not encrypted: others on the way can read what you type." : "",
  );
  document.title = `${url?.host || "Blank page"} - live browser`;
}

/** The tabs of the browser, when there is a choice. */
export function showTabs(
  pages: ObservedPage[],
  shown: string | null,
  choose: (id: string) => void,
): void {
  const bar = part("nav", "tabs");
  bar.hidden = pages.length < 2;
  bar.replaceChildren(
    ...pages.map(({ id, title, url }) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = title || url || "New tab";
      button.setAttribute("aria-current", String(id === shown));
      button.addEventListener("click", () => choose(id));
      return button;
    }),
  );
}

const OUTCOMES: Record<Outcome, [title: string, text: string]> = {
  completed: [
    "Done",
    "The browser is back with the program that asked you. You can close this page.",
  ],
  cancelled: ["Cancelled", "The browser was taken back. You can close this page."],
  expired: [
    "The time is over",
    "This link is not valid any more. Ask for a new one where you got it.",
  ],
  gone: ["The browser is gone", "Its session has ended. You can close this page."],
};

/** Shows how the hand-off has ended, in place of all else. */
export function showOver(outcome: Outcome): void {
  const [title, text] = OUTCOMES[outcome];
  document.body.classList.add("is-over");
  part("dialog", "dialog").close();
  tell(part("p", "note"), "");
  const over = part("section", "over");
  part("h2", "over-title").textContent = title;
  part("p", "over-text").textContent = text;
  over.hidden = false;
  over.focus();
  document.title = title;
}
