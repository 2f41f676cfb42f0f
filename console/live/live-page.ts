import type { ObservedPage, TextMessage } from "@svc/contract/browser/observer.ts";
import { forwardKeyboard } from "./keyboard.ts";
import { type Frame, Link, type Outcome } from "./link.ts";
import { PageDialog } from "./page-dialog.ts";
import { PageFiles } from "./page-files.ts";
import { Picture } from "./picture.ts";
import { forwardPointer } from "./pointer.ts";
import { type Pass, forgetPass } from "./token.ts";
import { part, showOver, showPlace, showTabs, tell } from "./view.ts";

const LEAST_WIDTH = 160;
const MOST_WIDTH = 1920;
const AWAY = "Connecting to the browser…";

/** A person's view of the session, and their hand in it. */
export class LivePage {
  readonly #pass: Pass;
  readonly #picture = new Picture(part("canvas", "picture"));
  readonly #keys = part("textarea", "keys");
  readonly #send = (message: object): void => this.#link.send(message);
  readonly #dialog = new PageDialog(this.#send);
  readonly #files = new PageFiles(this.#send, (text) => tell(part("p", "note"), text));
  readonly #link: Link;
  #pages: ObservedPage[] = [];
  #fitting = 0;

  constructor(pass: Pass) {
    this.#pass = pass;
    tell(part("p", "note"), AWAY);
    this.#link = new Link(pass, {
      frame: (frame) => void this.#draw(frame),
      text: (message) => this.#hear(message),
      connected: (isConnected) => this.#connected(isConnected),
      over: (outcome) => this.#over(outcome),
    });
    const done = part("button", "done");
    done.addEventListener("click", () => this.#send({ type: "handoff", action: "done" }));
    part("button", "cancel").addEventListener("click", () =>
      this.#send({ type: "handoff", action: "cancel" }),
    );
    forwardPointer(this.#keys, this.#picture, this.#send);
    forwardKeyboard(this.#keys, this.#send, () => done.focus());
    addEventListener("resize", () => {
      clearTimeout(this.#fitting);
      this.#fitting = setTimeout(() => this.#fit(), 200);
    });
  }

  async #draw(frame: Frame): Promise<void> {
    const before = this.#picture.page;
    await this.#picture.draw(frame);
    if (this.#picture.page !== before) this.#showWhere();
  }

  #hear(message: TextMessage): void {
    const note = part("p", "note");
    switch (message.type) {
      case "handoff":
        return tell(part("p", "instructions"), message.instructions ?? "");
      case "pages":
        this.#pages = message.pages;
        return this.#showWhere();
      case "state":
        return tell(note, message.status === "away" ? AWAY : "");
      case "dialog":
        return this.#dialog.show(message);
      case "fileChooser":
        return this.#files.asked(message);
      case "upload":
        return void this.#files.bring(message);
      case "error":
        return tell(note, message.message);
      case "hello":
        return;
    }
  }

  #showWhere(): void {
    const { page } = this.#picture;
    const shown =
      this.#pages.find(({ id }) => id === page) ?? this.#pages.find(({ active }) => active);
    showPlace(shown);
    showTabs(this.#pages, shown?.id ?? null, (chosen) => {
      this.#send({ type: "tab", action: "show", page: chosen });
      this.#keys.focus();
    });
  }

  #connected(isConnected: boolean): void {
    for (const id of ["done", "cancel"]) part("button", id).disabled = !isConnected;
    tell(part("p", "note"), isConnected ? "" : AWAY);
    if (!isConnected) return;
    this.#fit();
    this.#keys.focus({ preventScroll: true });
  }

  /** The picture is as large as it is shown, and no larger. */
  #fit(): void {
    const width = Math.ceil(part("main", "stage").clientWidth * devicePixelRatio);
    this.#send({ type: "options", maxWidth: Math.min(Math.max(width, LEAST_WIDTH), MOST_WIDTH) });
  }

  #over(outcome: Outcome): void {
    forgetPass(this.#pass);
    showOver(outcome);
  }
}
