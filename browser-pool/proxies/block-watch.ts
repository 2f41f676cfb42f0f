import * as z from "zod";
import { type CdpEvent, OwnClient } from "../cdp/own-client.ts";
import { RESUME } from "../cdp/starts.ts";
import type { Slot } from "../slots/slot.ts";
import { type Answer, blockIn, blockOfPage, mayBlock } from "./blocks.ts";

/** Pages alone, each stopped until its answers are watched. */
const ATTACH = {
  autoAttach: true,
  waitForDebuggerOnStart: true,
  flatten: true,
  filter: [{ type: "page" }, { exclude: true }],
};
const WATCH = { patterns: [{ resourceType: "Document", requestStage: "Response" }] };

const Attached = z.object({
  sessionId: z.string(),
  targetInfo: z.object({ targetId: z.string() }),
});
const Paused = z.object({
  requestId: z.string(),
  frameId: z.string(),
  request: z.object({ url: z.string(), method: z.string() }),
  responseStatusCode: z.number().optional(),
  responseHeaders: z.array(z.object({ name: z.string(), value: z.string() })).default([]),
});
type Paused = z.infer<typeof Paused>;

/** Asks for the page again in its place of the history. `replace` would only scroll to a fragment. */
const AGAIN = `<noscript><meta http-equiv="refresh" content="0"></noscript><script>location.href.includes("#") ? location.reload() : location.replace(location.href)</script>`;

/** Climbs to another way out; false when there is none. */
type Climb = (reason: string) => Promise<boolean>;

/**
 * Looks at the answers to navigations of a session's pages. A page that is blocked is held until the session leaves by
 * another way, and is then asked for again; where there is no other way its client gets it as it is.
 */
export class BlockWatch {
  readonly #client: OwnClient;
  readonly #slot: Slot;
  readonly #climb: Climb;
  /** The target of each session: its main frame has the same id. */
  readonly #targets = new Map<string, string>();

  private constructor(slot: Slot, climb: Climb) {
    this.#slot = slot;
    this.#climb = climb;
    this.#client = new OwnClient(slot.mux, (event) => this.#hear(event));
  }

  /** Ends with the browser. */
  static async start(slot: Slot, climb: Climb): Promise<void> {
    const watch = new BlockWatch(slot, climb);
    await watch.#client.open();
    await watch.#client.call("Target.setAutoAttach", ATTACH);
  }

  #hear({ method, params, sessionId }: CdpEvent): void {
    if (method === "Target.detachedFromTarget") this.#targets.delete(String(params.sessionId));
    const attached = method === "Target.attachedToTarget" && Attached.safeParse(params).data;
    if (attached) {
      this.#targets.set(attached.sessionId, attached.targetInfo.targetId);
      this.#call("Fetch.enable", WATCH, attached.sessionId);
      this.#call(RESUME, {}, attached.sessionId);
    }
    const paused = method === "Fetch.requestPaused" && Paused.safeParse(params).data;
    if (paused && sessionId !== null) void this.#judge(paused, sessionId);
  }

  async #judge(paused: Paused, sessionId: string): Promise<void> {
    const { requestId, responseStatusCode = 0 } = paused;
    const reason = await this.#reasonOf(paused, sessionId).catch(() => null);
    if (reason === null || !(await this.#climb(reason)))
      return this.#call("Fetch.continueRequest", { requestId }, sessionId);
    const again = {
      requestId,
      responseCode: responseStatusCode,
      responseHeaders: [
        { name: "Content-Type", value: "text/html" },
        { name: "Cache-Control", value: "no-store" },
      ],
      body: Buffer.from(AGAIN).toString("base64"),
    };
    this.#call("Fetch.fulfillRequest", again, sessionId);
  }

  /** Why an answer is a block. What was sent with a form is not sent twice: such an answer stays as it is. */
  async #reasonOf(paused: Paused, sessionId: string): Promise<string | null> {
    const { request, frameId, requestId, responseStatusCode: status = 0, responseHeaders } = paused;
    if (request.method !== "GET" || frameId !== this.#targets.get(sessionId)) return null;
    const headers = new Map(responseHeaders.map(({ name, value }) => [name.toLowerCase(), value]));
    const answer: Answer = { status, headers };
    const block = blockIn(answer);
    if (block !== null) return this.#slot.hasRefused(request.url) ? null : block;
    if (!mayBlock(answer)) return null;
    const { body, base64Encoded } = await this.#client.call(
      "Fetch.getResponseBody",
      { requestId },
      sessionId,
    );
    return blockOfPage(Buffer.from(String(body), base64Encoded ? "base64" : "utf8").toString());
  }

  // The page may close at any time: nobody waits for it then.
  #call(method: string, params: object, sessionId: string): void {
    this.#client.call(method, { ...params }, sessionId).catch(() => {});
  }
}
