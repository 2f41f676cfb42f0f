import { randomBytes } from "node:crypto";
import * as z from "zod";
import type { JsonObject } from "../cdp/envelope.ts";
import { embedding } from "./page-scripts.ts";
import type { OwnClient } from "../cdp/own-client.ts";

/** Frames at once: while the browser opens one, the page of another is at work. */
const FRAMES = 3;

/** How many entries were lost, by origin; null for an origin that could not be visited. */
export type Reports = Map<string, number | null>;

const Created = z.object({ targetId: z.string() });
const Attached = z.object({ sessionId: z.string() });
const Navigated = z.object({ errorText: z.string().optional() });
const Evaluated = z.object({
  result: z.object({ value: z.record(z.string(), z.number().nullable()) }),
});
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

/**
 * A tab with a page of the pool's own, in which origins are frames. A frame shares its process with the others: the
 * process that a page of its own would need costs more than all the rest of a visit.
 */
export class SeedingTab {
  /** The page around the frames. Its host exists nowhere. */
  readonly url: string;
  readonly #client: OwnClient;

  constructor(client: OwnClient, scheme: "http" | "https") {
    this.#client = client;
    this.url = `${scheme}://${randomBytes(16).toString("hex")}.invalid/`;
  }

  /** Visits origins. Requests of the tab are for the caller to answer. */
  async visit(origins: string[]): Promise<Reports> {
    const tab = { url: "about:blank", background: true };
    const { targetId } = Created.parse(await this.#client.call("Target.createTarget", tab));
    const attach = { targetId, flatten: true };
    const { sessionId } = Attached.parse(await this.#client.call("Target.attachToTarget", attach));
    const call = (method: string, params: JsonObject): Promise<JsonObject> =>
      this.#client.call(method, params, sessionId);
    const { errorText } = Navigated.parse(await call("Page.navigate", { url: this.url }));
    if (errorText !== undefined) throw new Error(`the page for the frames: ${errorText}`);
    const expression = embedding(origins, FRAMES);
    const evaluate = { expression, awaitPromise: true, returnByValue: true };
    const { result } = Evaluated.parse(await call("Runtime.evaluate", evaluate));
    await checkPartition(call);
    await this.#client.call("Target.closeTarget", { targetId });
    return new Map(Object.entries(result.value));
  }
}

async function checkPartition(
  call: (method: string, params: JsonObject) => Promise<JsonObject>,
): Promise<void> {
  const { frameTree } = Frames.parse(await call("Page.getFrameTree", {}));
  const [first] = frameTree.childFrames;
  // A frame in a process of its own is a target of its own, and not in this tree.
  if (!first) return;
  const { id: frameId, securityOrigin } = first.frame;
  const asked = call("Storage.getStorageKeyForFrame", { frameId });
  const { storageKey } = Key.parse(await asked);
  if (storageKey !== `${securityOrigin}/`) throw new PartitionedStorage();
}
