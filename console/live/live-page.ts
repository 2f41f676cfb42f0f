import type { ObservedPage, TextMessage } from "@svc/contract/browser/observer.ts";
import { forwardKeyboard } from "./keyboard.ts";
import { type Frame, Link, type Outcome } from "./link.ts";
import { PageDialog } from "./page-dialog.ts";
import { PageFiles } from "./page-files.ts";
import { Picture } from "./picture.ts";
import { forwardPointer } from "./pointer.ts";
import { type Pass, forgetPass } from "./token.ts";
import { forwardText } from "./written-text.ts";
import { part, showOver, showPlace, showTabs, tell } from "./view.ts";

const LEAST_WIDTH = 160;
const MOST_WIDTH = 1920;
const AWAY = "Connecting to the browser…";
const TAKEN =
  "Somebody else has this browser, or another window of yours. It is yours when they leave.";

/** A person's view of the session, and their hand in it. */
export class LivePage {
  readonly #pass: Pass;
  readonly #picture = new Picture(part("canvas", "picture"));
  readonly #keys = part("textarea", "keys");
  readonly #send = (message: object): void => this.#link.send(message);
  readonly #note = (text: string): void => tell(part("p", "note"), text);
  readonly #dialog = new PageDialog(this.#send);
  readonly #files = new PageFiles(this.#send, this.#note);
  readonly #link: Link;
  #pages: ObservedPage[] = [];
  #fitting = 0;

  constructor(pass: Pass) {
    this.#pass = pass;
    this.#note(AWAY);
    this.#link = new Link(pass, {
      frame: (frame) => this.#draw(frame),
      text: (message) => this.#hear(message),
      connected: () => this.#connected(),
      away: (isTaken) => this.#away(isTaken ? TAKEN : AWAY),
      over: (outcome) => this.#over(outcome),
    });
    const done = part("button", "done");
    done.addEventListener("click", () => this.#send({ type: "handoff", action: "done" }));
    part("button", "cancel").addEventListener("click", () =>
      this.#send({ type: "handoff", action: "cancel" }),
    );
    forwardPointer(this.#keys, this.#picture, this.#send);
    forwardText(this.#keys, this.#send, this.#note);
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
    switch (message.type) {
      case "handoff":
        return tell(part("p", "instructions"), message.instructions ?? "");
      case "pages":
        this.#pages = message.pages;
        return this.#showWhere();
      case "state":
        return this.#note(message.status === "away" ? AWAY : "");
      case "dialog":
        return this.#dialog.show(
          message,
          this.#pages.find(({ id }) => id === message.page),
        );
      case "fileChooser":
        return this.#files.asked(message);
      case "upload":
        return void this.#files.bring(message);
      case "error":
        return this.#note(message.message);
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

  #connected(): void {
    this.#enable(true);
    this.#note("");
    this.#fit();
    this.#keys.focus({ preventScroll: true });
  }

  /** Questions of the page end with the connection: the browser answers them with no. */
  #away(why: string): void {
    this.#enable(false);
    this.#note(why);
    this.#dialog.close();
    this.#files.close();
  }

  #enable(isConnected: boolean): void {
    for (const id of ["done", "cancel"]) part("button", id).disabled = !isConnected;
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
