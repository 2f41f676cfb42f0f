import { type InputMessage, type PageAsks, isReachable } from "@svc/contract/browser/take-over.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import * as z from "zod";
import type { JsonObject } from "../cdp/envelope.ts";
import type { CdpEvent, OwnClient } from "../cdp/own-client.ts";
import { SHOWN_AT } from "../files/session-files.ts";
import { keyCodeOf, textOf } from "./keys.ts";

const MESSAGE_LENGTH = 2_048;
const ASKS_EVERY_MS = 50;

const Dialog = z.object({
  type: z.enum(["alert", "confirm", "prompt", "beforeunload"]),
  message: z.string(),
  defaultPrompt: z.string().optional(),
});

const Chooser = z.object({
  mode: z.enum(["selectSingle", "selectMultiple"]),
  /** The input that asks; absent where a script asks without one: such a page can be given nothing. */
  backendNodeId: z.int().optional(),
});

/** The page that a person has before them. */
export interface InHand {
  page: string;
  /** Pixels of its frames for one CSS pixel. */
  scale: number;
}

type Kind<Type extends InputMessage["type"]> = Extract<InputMessage, { type: Type }>;

/**
 * The hand of the person who has taken a session over. It is attached to the page that is shown to them, and there alone
 * dialogs and pages that want a file wait for an answer.
 */
export class Hand {
  readonly #client: OwnClient;
  readonly #tell: (asks: PageAsks) => void;
  /** The last that is still to be told: a page that asks all the time is heard now and then. */
  #asks: PageAsks | null = null;
  #page: string | null = null;
  #session: Promise<string | null> = Promise.resolve(null);
  /** From when on the page's dialogs and wishes for files wait for the person. */
  #isHeld: Promise<void> = Promise.resolve();
  #sessionId: string | null = null;
  /** The input that waits for files. */
  #chooser: { input: number; isSingle: boolean } | null = null;
  /** Calls that the browser has not answered. */
  #waiting = 0;

  constructor(client: OwnClient, tell: (asks: PageAsks) => void) {
    this.#client = client;
    this.#tell = tell;
  }

  /** Does what the person does. Of a person who is faster than the browser, moves of the mouse are left out first. */
  use(input: InputMessage, { page, scale }: InHand): void {
    this.hold(page);
    // Calls that a dialog holds up are answered after the dialog: its answer must always get through.
    if (input.type !== "dialog" && this.#waiting >= mostWaiting(input)) return;
    switch (input.type) {
      case "mouse":
        return this.#mouse(input, scale);
      case "key":
        return this.#key(input);
      case "text":
        return this.#give("Input.insertText", { text: input.text });
      case "nav":
        return this.#navigate(input);
      case "dialog": {
        const { text } = input;
        const answer = {
          accept: input.action === "accept",
          ...(text !== undefined && { promptText: text }),
        };
        return this.#do("Page.handleJavaScriptDialog", answer);
      }
      case "files":
        return this.#files(input, page);
      case "tab":
        return this.#tab(input, page);
    }
  }

  /** Takes hold of a page, and lets go of the one before. */
  hold(page: string): void {
    if (page === this.#page) return;
    this.letGo();
    this.#page = page;
    this.#session = this.#attach(page);
    this.#isHeld = this.#session.then((sessionId) => this.#wait(sessionId));
  }

  letGo(): void {
    this.#page = null;
    const left = this.#session;
    this.#session = Promise.resolve(null);
    this.#sessionId = null;
    this.#chooser = null;
    void left.then((sessionId) => {
      if (sessionId !== null)
        return this.#client.call("Target.detachFromTarget", { sessionId }).catch(() => {});
    });
  }

  hear({ method, params, sessionId }: CdpEvent): void {
    const page = this.#page;
    if (page === null || sessionId === null || sessionId !== this.#sessionId) return;
    if (method === "Page.fileChooserOpened") return this.#wantsFiles(params, page);
    if (method === "Page.javascriptDialogClosed")
      return this.#later({ type: "dialog", page, kind: "gone" });
    if (method !== "Page.javascriptDialogOpening") return;
    const dialog = Dialog.safeParse(params).data;
    if (!dialog) return;
    const message = dialog.message.slice(0, MESSAGE_LENGTH);
    const text = (dialog.defaultPrompt ?? "").slice(0, MESSAGE_LENGTH);
    this.#later({ type: "dialog", page, kind: dialog.type, message, text });
  }

  #wantsFiles(params: JsonObject, page: string): void {
    const chooser = Chooser.safeParse(params).data;
    if (chooser?.backendNodeId === undefined) return;
    const isSingle = chooser.mode === "selectSingle";
    this.#chooser = { input: chooser.backendNodeId, isSingle };
    this.#later({ type: "fileChooser", page, kind: isSingle ? "one" : "several" });
  }

  /** An input that takes one file is given the first. When the person cancels, the page is told nothing and goes on waiting. */
  #files(input: Kind<"files">, page: string): void {
    const chooser = this.#chooser;
    this.#chooser = null;
    if (!chooser) return;
    this.#later({ type: "fileChooser", page, kind: "gone" });
    if (input.action === "cancel") return;
    const names = chooser.isSingle ? input.names.slice(0, 1) : input.names;
    const files = names.map((name) => `${SHOWN_AT}/${name}`);
    this.#do("DOM.setFileInputFiles", { files, backendNodeId: chooser.input });
  }

  #later(asks: PageAsks): void {
    const isAwaited = this.#asks !== null;
    this.#asks = asks;
    if (isAwaited) return;
    setTimeout(() => {
      if (this.#asks && this.#page !== null) this.#tell(this.#asks);
      this.#asks = null;
    }, ASKS_EVERY_MS);
  }

  async #attach(targetId: string): Promise<string | null> {
    const attached = await this.#client
      .call("Target.attachToTarget", { targetId, flatten: true })
      // The page has gone meanwhile.
      .catch((): JsonObject => ({}));
    const { sessionId } = attached;
    if (typeof sessionId !== "string") return null;
    if (this.#page === targetId) this.#sessionId = sessionId;
    return sessionId;
  }

  /** Has the page wait for the person. */
  async #wait(sessionId: string | null): Promise<void> {
    if (sessionId === null) return;
    const call = (method: string, params = {}) =>
      this.#client.call(method, params, sessionId).catch(() => {});
    await Promise.all([
      call("Page.enable"),
      call("Page.setInterceptFileChooserDialog", { enabled: true }),
    ]);
  }

  #mouse({ action, x, y, button, clicks, dx, dy, mods }: Kind<"mouse">, scale: number): void {
    const type = {
      move: "mouseMoved",
      down: "mousePressed",
      up: "mouseReleased",
      wheel: "mouseWheel",
    };
    const wheel = action === "wheel" ? { deltaX: dx, deltaY: dy } : {};
    const press = action === "down" || action === "up" ? { clickCount: clicks } : {};
    const held = action === "move" && button !== "none" ? { buttons: BUTTONS[button] } : {};
    this.#give("Input.dispatchMouseEvent", {
      type: type[action],
      x: x / scale,
      y: y / scale,
      button,
      modifiers: mods,
      ...wheel,
      ...press,
      ...held,
    });
  }

  #key({ action, key, code, text, mods }: Kind<"key">): void {
    const writes = action === "down" ? textOf(key, text) : "";
    this.#give("Input.dispatchKeyEvent", {
      type: action === "up" ? "keyUp" : writes ? "keyDown" : "rawKeyDown",
      key,
      code,
      modifiers: mods,
      windowsVirtualKeyCode: keyCodeOf(key, code),
      ...(writes && { text: writes, unmodifiedText: writes }),
    });
  }

  #navigate(input: Kind<"nav">): void {
    switch (input.action) {
      case "goto":
        return isReachable(input.url) ? this.#do("Page.navigate", { url: input.url }) : undefined;
      case "reload":
        return this.#do("Page.reload");
      case "stop":
        return this.#do("Page.stopLoading");
      case "back":
        return this.#go(-1);
      case "forward":
        return this.#go(1);
    }
  }

  #go(by: number): void {
    void this.#session.then(async (sessionId) => {
      if (sessionId === null) return;
      const history = await this.#client
        .call("Page.getNavigationHistory", {}, sessionId)
        .catch((): JsonObject => ({}));
      const { currentIndex, entries } = History.parse(history);
      const entry = entries[currentIndex + by];
      if (entry) this.#do("Page.navigateToHistoryEntry", { entryId: entry.id });
    });
  }

  #tab({ action, page }: Kind<"tab">, shown: string): void {
    const targetId = page ?? shown;
    const call = {
      show: () => this.#client.call("Target.activateTarget", { targetId }),
      close: () => this.#client.call("Target.closeTarget", { targetId }),
      new: () => this.#client.call("Target.createTarget", { url: "about:blank" }),
    };
    // A page that has gone meanwhile: the tabs tell.
    void call[action]().catch(() => {});
  }

  /** Gives the page what the person does in it: not before it is held, as the browser lets input overtake other calls. */
  #give(method: string, params: JsonObject): void {
    this.#do(method, params, this.#isHeld);
  }

  #do(method: string, params: JsonObject = {}, after: Promise<void> = Promise.resolve()): void {
    const session = this.#session;
    this.#waiting += 1;
    void after
      .then(() => session)
      .then(async (sessionId) => {
        if (sessionId !== null) await this.#client.call(method, params, sessionId);
      })
      // The page has gone, or has nothing to answer: what the person sees tells.
      .catch(() => {})
      .finally(() => (this.#waiting -= 1));
  }
}

function mostWaiting(input: InputMessage): number {
  const isMove = input.type === "mouse" && input.action === "move";
  return isMove ? LIMITS.movesWaiting : LIMITS.inputsWaiting;
}

const BUTTONS = { left: 1, right: 2, middle: 4 } as const;
const History = z.object({
  currentIndex: z.number().catch(0),
  entries: z.array(z.object({ id: z.number() })).catch([]),
});
