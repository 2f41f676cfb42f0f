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

const urlOf = (text: string): URL | null => (URL.canParse(text) ? new URL(text) : null);

/** Where a page is, as a person is to know it: its host. A page that a site has made of bytes is the site's. */
export function placeOf(page: ObservedPage | undefined): string {
  const url = urlOf(page?.url ?? "");
  if (!url || url.protocol === "about:") return "a blank page";
  const site = url.protocol === "blob:" ? urlOf(url.origin) : url;
  return site?.host || `no site (${url.protocol})`;
}

/** The name of the page's host, which a person is to know before they type a password. */
export function showPlace(page: ObservedPage | undefined): void {
  const url = urlOf(page?.url ?? "");
  const place = placeOf(page);
  part("h1", "host").textContent = place;
  const isPlain = url?.protocol === "http:" && !LOOPBACK.test(url.hostname);
  tell(
    part("p", "warning"),
    isPlain ? "Not encrypted: others on the way can read what you type." : "",
  );
  document.title = `${place} - live browser`;
}

/** The tabs of the browser, when there is a choice. A tab keeps its button: titles may change while one is clicked. */
export function showTabs(
  pages: ObservedPage[],
  shown: string | null,
  choose: (id: string) => void,
): void {
  const bar = part("nav", "tabs");
  bar.hidden = pages.length < 2;
  const before = new Map(
    [...bar.querySelectorAll("button")].map((button) => [button.dataset["page"], button]),
  );
  const buttons = pages.map(({ id, title, url }) => {
    const button = before.get(id) ?? newTab(id, choose);
    button.textContent = title || url || "New tab";
    button.setAttribute("aria-current", String(id === shown));
    return button;
  });
  for (const [id, button] of before) if (!pages.some((page) => page.id === id)) button.remove();
  // A button that is where it belongs is not moved: it would lose the focus.
  for (const [at, button] of buttons.entries())
    if (bar.children[at] !== button) bar.insertBefore(button, bar.children[at] ?? null);
}

function newTab(page: string, choose: (id: string) => void): HTMLButtonElement {
  const button = document.createElement("button");
  button.type = "button";
  button.dataset["page"] = page;
  button.addEventListener("click", () => choose(page));
  return button;
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
