import * as z from "zod";
import { type JsonObject, isObject } from "../cdp/envelope.ts";
import type { WatchedDocument, WatchedPages } from "../cdp/watched-pages.ts";
import type { CaptchaKind } from "./challenge.ts";
import {
  CALL,
  CALLBACK_OF_KEY,
  CALLBACK_OF_NAME,
  HAS_TURNSTILE,
  PLAIN,
  RENDERED,
  WHERE,
  fillScript,
} from "./page-scripts.ts";

/** Objects of pages that are held while something is done with them. */
const GROUP = "svc_captcha";

const Result = z.object({
  result: z.object({
    value: z.unknown().optional(),
    objectId: z.string().optional(),
    type: z.string(),
  }),
});
const Described = z.object({ node: z.object({ backendNodeId: z.number() }) });
const Resolved = z.object({ object: z.object({ objectId: z.string() }) });
const Prototype = z.object({
  internalProperties: z.tuple([
    z.object({ name: z.literal("[[Prototype]]"), value: z.object({ objectId: z.string() }) }),
  ]),
});
const Objects = z.object({ objects: z.object({ objectId: z.string() }) });

/**
 * Reads the own world of a page without a trace: what it evaluates there is stopped before the page could notice it, and
 * what scripts have rendered is found among the objects of the page, with no hook. The callback alone is called.
 */
export class PageWorld {
  readonly #pages: WatchedPages;
  readonly #of: WatchedDocument;

  constructor(pages: WatchedPages, document: WatchedDocument) {
    this.#pages = pages;
    this.#of = document;
  }

  /** Where the document is: origin and path. Null where it has no address, or has gone. */
  async url(): Promise<string | null> {
    const { contextId } = this.#of;
    const ask = { expression: WHERE, contextId, returnByValue: true };
    const { value } = await this.#result("Runtime.evaluate", ask);
    return typeof value === "string" ? value : null;
  }

  /** Of the main document of the session. */
  async hasTurnstile(): Promise<boolean> {
    const ask = { expression: HAS_TURNSTILE, throwOnSideEffect: true, returnByValue: true };
    return (await this.#result("Runtime.evaluate", ask)).value === true;
  }

  /** The Turnstiles that scripts have rendered, unread. */
  async rendered(): Promise<unknown[]> {
    return this.#holding(async () => {
      const objects = await this.#objects(await this.#document());
      const all: unknown[] = [];
      let { value: one } = await this.#ask(objects, RENDERED, [], true);
      for (; isObject(one); one = one["next"]) all.push(one);
      return all;
    });
  }

  /** Puts a token into the fields of a kind. How many there are. */
  async fill(kind: CaptchaKind, token: string): Promise<number> {
    const { contextId } = this.#of;
    const ask = { expression: fillScript(kind, token), contextId, returnByValue: true };
    return Number((await this.#result("Runtime.evaluate", ask)).value);
  }

  /** Calls back the page: the function of this name, or else the one that came with this key. False: there is none. */
  async callBack(name: string | null, siteKey: string, token: string): Promise<boolean> {
    return this.#holding(async () => {
      const document = await this.#document();
      const named = name === null ? null : await this.#ask(document, CALLBACK_OF_NAME, [name]);
      const callback =
        named?.objectId ??
        (await this.#ask(await this.#objects(document), CALLBACK_OF_KEY, [siteKey])).objectId;
      if (callback === undefined) return false;
      const call = { objectId: callback, functionDeclaration: CALL, arguments: [{ value: token }] };
      await this.#call("Runtime.callFunctionOn", call);
      return true;
    });
  }

  /** The document, as an object of the page's own world: of the isolated one are its nodes alone. */
  async #document(): Promise<string> {
    const { contextId } = this.#of;
    const ask = { expression: "document", contextId, objectGroup: GROUP };
    const { objectId } = await this.#result("Runtime.evaluate", ask);
    const { node } = Described.parse(await this.#call("DOM.describeNode", { objectId }));
    const resolve = { backendNodeId: node.backendNodeId, objectGroup: GROUP };
    return Resolved.parse(await this.#call("DOM.resolveNode", resolve)).object.objectId;
  }

  async #objects(document: string): Promise<string> {
    const { objectId } = await this.#ask(document, PLAIN, []);
    const own = await this.#call("Runtime.getProperties", { objectId, ownProperties: true });
    const [prototype] = Prototype.parse(own).internalProperties;
    const query = { prototypeObjectId: prototype.value.objectId, objectGroup: GROUP };
    return Objects.parse(await this.#call("Runtime.queryObjects", query)).objects.objectId;
  }

  #ask(objectId: string, functionDeclaration: string, values: string[], returnByValue = false) {
    const ask = { objectId, functionDeclaration, throwOnSideEffect: true, objectGroup: GROUP };
    const given = values.map((value) => ({ value }));
    return this.#result("Runtime.callFunctionOn", { ...ask, arguments: given, returnByValue });
  }

  async #result(method: string, params: JsonObject) {
    const answer = await this.#call(method, params);
    if (answer["exceptionDetails"]) return { value: undefined, objectId: undefined };
    return Result.parse(answer).result;
  }

  async #holding<Held>(work: () => Promise<Held>): Promise<Held> {
    try {
      return await work();
    } finally {
      this.#call("Runtime.releaseObjectGroup", { objectGroup: GROUP }).catch(() => {});
    }
  }

  #call(method: string, params: JsonObject): Promise<JsonObject> {
    return this.#pages.ask(method, params, this.#of.sessionId);
  }
}
