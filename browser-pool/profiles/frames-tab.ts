import { randomBytes } from "node:crypto";
import * as z from "zod";
import type { JsonObject } from "../cdp/envelope.ts";
import { embedding } from "./write-scripts.ts";
import type { OwnClient } from "../cdp/own-client.ts";

/** Frames at once: while the browser opens one, the page of another is at work. */
const FRAMES = 3;

const Created = z.object({ targetId: z.string() });
const Attached = z.object({ sessionId: z.string() });
const Navigated = z.object({ errorText: z.string().optional() });
const Frames = z.object({
  frameTree: z.object({
    childFrames: z
      .array(z.object({ frame: z.object({ id: z.string(), securityOrigin: z.string() }) }))
      .default([]),
  }),
});
const Key = z.object({ storageKey: z.string() });

/** The browser keeps the storage of a frame apart from that of its origin: nothing would be found there later. */
export class PartitionedStorage extends Error {
  constructor() {
    super("this browser partitions the storage of frames");
  }
}

/** A call in the session of the tab. */
export type TabCall = (method: string, params?: JsonObject) => Promise<JsonObject>;

export interface TabOptions {
  scheme: "http" | "https";
  /** Opens the tab: the result of `Target.createTarget`. */
  open: (params: JsonObject) => Promise<JsonObject>;
  /** Calls that are made before the first page of the tab. */
  prepare?: (call: TabCall, sessionId: string) => Promise<void>;
}

/**
 * A tab with a page of the pool's own, in which origins are frames. A frame shares its process with the others: the
 * process that a page of its own would need costs more than all the rest of a visit.
 */
export class FramesTab {
  /** The page around the frames. Its host exists nowhere. */
  readonly url: string;
  readonly #client: OwnClient;
  readonly #options: TabOptions;

  constructor(client: OwnClient, options: TabOptions) {
    this.#client = client;
    this.#options = options;
    this.url = `${options.scheme}://${randomBytes(16).toString("hex")}.invalid/`;
  }

  /** Visits origins: what each page has told, null of an origin that could not be visited. Requests of the tab are for the caller to answer. */
  async visit<Report>(
    origins: string[],
    report: z.ZodType<Report>,
  ): Promise<Map<string, Report | null>> {
    const { open, prepare } = this.#options;
    const tab = { url: "about:blank", background: true };
    const { targetId } = Created.parse(await open(tab));
    try {
      const attach = { targetId, flatten: true };
      const attached = await this.#client.call("Target.attachToTarget", attach);
      const { sessionId } = Attached.parse(attached);
      const call: TabCall = (method, params = {}) => this.#client.call(method, params, sessionId);
      await prepare?.(call, sessionId);
      return await this.#visit(call, origins, report);
    } finally {
      await this.#client.call("Target.closeTarget", { targetId });
    }
  }

  async #visit<Report>(
    call: TabCall,
    origins: string[],
    report: z.ZodType<Report>,
  ): Promise<Map<string, Report | null>> {
    const { errorText } = Navigated.parse(await call("Page.navigate", { url: this.url }));
    if (errorText !== undefined) throw new Error(`the page for the frames: ${errorText}`);
    const expression = embedding(origins, FRAMES);
    const evaluate = { expression, awaitPromise: true, returnByValue: true };
    const reports = z.record(z.string(), report.nullable());
    const answer = z.object({ result: z.object({ value: reports }) });
    const { result } = answer.parse(await call("Runtime.evaluate", evaluate));
    await checkPartition(call);
    return new Map(Object.entries(result.value));
  }
}

async function checkPartition(call: TabCall): Promise<void> {
  const { frameTree } = Frames.parse(await call("Page.getFrameTree"));
  const [first] = frameTree.childFrames;
  // A frame in a process of its own is a target of its own, and not in this tree.
  if (!first) return;
  const { id: frameId, securityOrigin } = first.frame;
  const asked = call("Storage.getStorageKeyForFrame", { frameId });
  const { storageKey } = Key.parse(await asked);
  if (storageKey !== `${securityOrigin}/`) throw new PartitionedStorage();
}
