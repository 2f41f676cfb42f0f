import { type LoginSteps, isSafe } from "@svc/contract/browser/login.ts";
import { ApiError } from "@svc/contract/errors.ts";
import type { CdpSession } from "@svc/sdk/cdp.ts";
import { type CallOptions, within } from "@svc/sdk/http/deadline.ts";
import * as z from "zod";
import {
  type Field,
  type Seen,
  WHERE,
  buttonScript,
  clearScript,
  fillFunction,
  findScript,
  lookScript,
} from "./form-script.ts";

/** The parts of a saved login by which its form is found and judged. */
export interface Form {
  steps: LoginSteps;
  allowedHosts: readonly string[];
  checkSelector: string | undefined;
}

const WORLD = "svc.login";
const BLANK_MS = 2_000;

/** A key as DevTools names it. */
interface Key {
  key: string;
  code: string;
  windowsVirtualKeyCode: number;
  text?: string;
}

const SHIFT: Key = { key: "Shift", code: "ShiftLeft", windowsVirtualKeyCode: 16 };
const ENTER: Key = { key: "Enter", code: "Enter", windowsVirtualKeyCode: 13, text: "\r" };

const Frame = z.object({ frameTree: z.object({ frame: z.object({ id: z.string() }) }) });
const World = z.object({ executionContextId: z.number() });
const Evaluated = z.object({
  result: z.object({ value: z.unknown().optional(), objectId: z.string().optional() }),
});
type Evaluated = z.infer<typeof Evaluated>["result"];
const Point = z.object({ x: z.number(), y: z.number() });
const SeenSchema: z.ZodType<Seen> = z.object({
  url: z.string(),
  title: z.string(),
  document: z.number(),
  isLoaded: z.boolean(),
  fields: z.object({ username: z.boolean(), password: z.boolean(), code: z.boolean() }),
  isChecked: z.boolean().nullable(),
  hasCaptcha: z.boolean(),
  frameHosts: z.array(z.string()),
});

/** The page of a login, as its run sees it and fills it in. */
export class LoginPage {
  readonly #page: Pick<CdpSession, "send">;
  readonly #form: Form;
  readonly #signal: AbortSignal;

  /** `signal`: the end of the run, which is the only limit of what the page is asked. */
  constructor(page: Pick<CdpSession, "send">, form: Form, signal: AbortSignal) {
    this.#page = page;
    this.#form = form;
    this.#signal = signal;
  }

  /** Goes to a URL. Answers the browser's error; null once the page is there. */
  async open(url: string): Promise<string | null> {
    await this.#send("Page.bringToFront");
    const { errorText } = await this.#send("Page.navigate", { url });
    return typeof errorText === "string" ? errorText : null;
  }

  /** The state of the page now; null between two documents. */
  async look(): Promise<Seen | null> {
    const { steps, checkSelector } = this.#form;
    const value = await this.#evaluate(lookScript(steps, checkSelector)).catch(unlessOver(this));
    return SeenSchema.safeParse(value).data ?? null;
  }

  /**
   * Writes a text into a field. False: the field is gone, or holds something else then. Throws OriginMismatch.
   *
   * The document of the field says where it is, and what is written goes by the name that the browser has given that one
   * element: no other document, no other field and no frame can get it, wherever the page leads the focus meanwhile. The text is
   * an argument, not a part of the script, which clients with a debugger could read.
   */
  async fill(field: Field, text: string): Promise<boolean> {
    const { steps } = this.#form;
    const found = await this.#inWorld(findScript(steps, field), false).catch(unlessOver(this));
    if (!found?.objectId) return false;
    const ask = (functionDeclaration: string, args: string[] = []): Promise<unknown> =>
      this.#ask("Runtime.callFunctionOn", {
        functionDeclaration,
        objectId: found.objectId,
        arguments: args.map((value) => ({ value })),
        returnByValue: true,
      }).then(({ value }) => value, unlessOver(this));
    const url = await ask(WHERE);
    if (typeof url !== "string") return false;
    this.check(url);
    if ((await ask(fillFunction(steps, field), [text])) !== true) return false;
    // Some pages look at their fields only at a key: one that says nothing, to whomever.
    await Promise.all(this.#strike(SHIFT));
    return true;
  }

  /** Sends the form of a field. */
  async submit(field: Field): Promise<void> {
    const script = buttonScript(this.#form.steps, field);
    const at = Point.safeParse(await this.#evaluate(script).catch(unlessOver(this))).data;
    if (!at) return void (await Promise.all(this.#strike(ENTER)));
    const click = { ...at, button: "left", clickCount: 1 };
    await this.#send("Input.dispatchMouseEvent", { type: "mouseMoved", ...at });
    await this.#send("Input.dispatchMouseEvent", { type: "mousePressed", ...click });
    await this.#send("Input.dispatchMouseEvent", { type: "mouseReleased", ...click });
  }

  /** Throws OriginMismatch unless pages of this URL may be given the secrets. */
  check(url: string): void {
    const host = URL.canParse(url) ? new URL(url).hostname : "";
    if (isSafe(url) && this.#form.allowedHosts.includes(host)) return;
    throw mismatch(host || "another page", isSafe(url) ? "" : " over a connection that is safe");
  }

  /** Throws OriginMismatch when the form seems to be in a frame of a host that may not be given the secrets. */
  checkFrames({ frameHosts }: Seen): void {
    const stranger = frameHosts.find((host) => !this.#form.allowedHosts.includes(host));
    if (stranger !== undefined) throw mismatch(`a frame of ${stranger}`, "");
  }

  /**
   * Empties the fields of the page, or leaves the page, so that nothing of the login stays in it. False: the page does not
   * answer. Works also when the run itself is over.
   */
  async clear(): Promise<boolean> {
    const options = { timeoutMs: BLANK_MS };
    const script = clearScript(this.#form.steps);
    const emptying = within(options, ({ signal }) => this.#evaluate(script, signal));
    const left = await emptying.catch(() => null);
    if (left === 0) return true;
    const leaving = this.#page.send("Page.navigate", { url: "about:blank" }, options);
    return leaving.then(
      () => true,
      () => false,
    );
  }

  get isOver(): boolean {
    return this.#signal.aborted;
  }

  #strike(key: Key): Promise<unknown>[] {
    const { text: _text, ...up } = key;
    return [
      this.#send("Input.dispatchKeyEvent", { type: "keyDown", ...key }),
      this.#send("Input.dispatchKeyEvent", { type: "keyUp", ...up }),
    ];
  }

  /** The value of an expression, in a world of our own. */
  async #evaluate(expression: string, signal = this.#signal): Promise<unknown> {
    return (await this.#inWorld(expression, true, signal)).value;
  }

  /** Evaluates in a world of our own, of the document that is there now. */
  async #inWorld(
    expression: string,
    returnByValue: boolean,
    signal = this.#signal,
  ): Promise<Evaluated> {
    const options = until(signal);
    const tree = Frame.parse(await this.#page.send("Page.getFrameTree", {}, options));
    const where = { frameId: tree.frameTree.frame.id, worldName: WORLD };
    const world = World.parse(await this.#page.send("Page.createIsolatedWorld", where, options));
    const ask = { expression, contextId: world.executionContextId, returnByValue };
    return this.#ask("Runtime.evaluate", ask, signal);
  }

  async #ask(method: string, params: object, signal = this.#signal): Promise<Evaluated> {
    return Evaluated.parse(await this.#page.send(method, params, until(signal))).result;
  }

  #send(method: string, params: object = {}): Promise<Record<string, unknown>> {
    return this.#page.send(method, params, until(this.#signal));
  }
}

const until = (signal: AbortSignal): CallOptions => ({ signal, timeoutMs: Infinity });

/** Turns the lost answer of a document that goes away into null; rethrows when the run is over. */
const unlessOver =
  (page: LoginPage) =>
  (error: unknown): null => {
    if (page.isOver) throw error;
    return null;
  };

const mismatch = (where: string, how: string): ApiError =>
  new ApiError(
    "OriginMismatch",
    `The login asks for the secrets at ${where}, which is none of the login's allowedHosts${how}. Nothing was typed there. Have a person log in, or correct the saved login in the console.`,
  );
