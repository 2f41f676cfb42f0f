import * as z from "zod";
import { type CdpEvent, OwnClient } from "../cdp/own-client.ts";
import { RESUME } from "../cdp/starts.ts";
import type { Slot } from "../slots/slot.ts";
import type { Ladder } from "./ladder.ts";
import { type Answer, blockIn, blockOfPage, mayBlock } from "./blocks.ts";

/** Pages alone, each stopped until its answers are watched. */
const ATTACH = {
  autoAttach: true,
  waitForDebuggerOnStart: true,
  flatten: true,
  filter: [{ type: "page" }, { exclude: true }],
};
const WATCH = {
  patterns: ["Request", "Response"].map((requestStage) => ({
    resourceType: "Document",
    requestStage,
  })),
};

const Attached = z.object({
  sessionId: z.string(),
  targetInfo: z.object({ targetId: z.string() }),
});
const Paused = z.object({
  requestId: z.string(),
  frameId: z.string(),
  request: z.object({ url: z.string(), method: z.string() }),
  responseStatusCode: z.number().optional(),
  responseErrorReason: z.string().optional(),
  responseHeaders: z.array(z.object({ name: z.string(), value: z.string() })).default([]),
});
type Paused = z.infer<typeof Paused>;

/** The status of a page whose answer a climb has cut off, until it is asked for again. */
const CUT = 503;
/** Asks for the page again in its place of the history. `replace` would only scroll to a fragment. */
const AGAIN = `<noscript><meta http-equiv="refresh" content="0"></noscript><script>location.href.includes("#") ? location.reload() : location.replace(location.href)</script>`;

/**
 * Looks at the answers to navigations of a session's pages. A page that is blocked is held until the session leaves by
 * another way, and is then asked for again; where there is no other way its client gets it as it is.
 */
export class BlockWatch {
  readonly #client: OwnClient;
  readonly #slot: Slot;
  readonly #ladder: Ladder;
  /** The target of each session: its main frame has the same id. */
  readonly #targets = new Map<string, string>();
  /** The height of the ladder at which the page of each session was last asked for. */
  readonly #heights = new Map<string, number>();

  private constructor(slot: Slot, ladder: Ladder) {
    this.#slot = slot;
    this.#ladder = ladder;
    this.#client = new OwnClient(slot.mux, (event) => this.#hear(event));
  }

  /** Ends with the browser. */
  static async start(slot: Slot, ladder: Ladder): Promise<void> {
    const watch = new BlockWatch(slot, ladder);
    await watch.#client.open();
    await watch.#client.call("Target.setAutoAttach", ATTACH);
  }

  #hear({ method, params, sessionId }: CdpEvent): void {
    if (method === "Target.detachedFromTarget")
      for (const known of [this.#targets, this.#heights]) known.delete(String(params.sessionId));
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
    const { requestId, responseStatusCode: status, responseErrorReason: error, frameId } = paused;
    const isOfPage = frameId === this.#targets.get(sessionId);
    const { height } = this.#ladder;
    // Nothing has answered yet.
    if (isOfPage && status === undefined && error === undefined)
      this.#heights.set(sessionId, height);
    const from = this.#heights.get(sessionId) ?? 0;
    const reason = isOfPage
      ? await this.#reasonOf(paused, sessionId, from).catch(() => null)
      : null;
    if (reason === null || !(await this.#ladder.climb(reason, from)))
      return this.#call("Fetch.continueRequest", { requestId }, sessionId);
    const again = {
      requestId,
      responseCode: status ?? CUT,
      responseHeaders: [
        { name: "Content-Type", value: "text/html" },
        { name: "Cache-Control", value: "no-store" },
      ],
      body: Buffer.from(AGAIN).toString("base64"),
    };
    this.#call("Fetch.fulfillRequest", again, sessionId);
  }

  /** Why an answer is a block. What was sent with a form is not sent twice: such an answer stays as it is. */
  async #reasonOf(paused: Paused, sessionId: string, from: number): Promise<string | null> {
    const { request, requestId, responseStatusCode: status = 0, responseHeaders } = paused;
    if (request.method !== "GET") return null;
    // A climb has closed the connection by which it was asked for.
    if (paused.responseErrorReason !== undefined)
      return from < this.#ladder.height ? "the way out has changed" : null;
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
