import { once } from "node:events";
import { WebSocket } from "ws";
import * as z from "zod";

const CALL_MS = 20_000;
const PAGE_MS = 20_000;

const Message = z.object({
  id: z.int().optional(),
  method: z.string().optional(),
  result: z.unknown().optional(),
  error: z.object({ message: z.string() }).optional(),
});
type Message = z.infer<typeof Message>;
const Targets = z.object({
  targetInfos: z.array(z.object({ targetId: z.string(), type: z.string() })),
});
const Attached = z.object({ sessionId: z.string() });

/** A client of the DevTools protocol that drives a page a little and then vanishes without a word. */
export async function visitAndVanish(cdpEndpoint: string, siteUrl: string): Promise<void> {
  const webSocket = new WebSocket(cdpEndpoint, { handshakeTimeout: CALL_MS });
  webSocket.on("error", () => webSocket.terminate());
  try {
    await once(webSocket, "open", { signal: AbortSignal.timeout(CALL_MS) });
    const client = new RawClient(webSocket);
    const { targetInfos } = Targets.parse(await client.call("Target.getTargets"));
    const page = targetInfos.find(({ type }) => type === "page");
    if (!page) throw new Error("the session has no page");
    const attach = { targetId: page.targetId, flatten: true };
    const { sessionId } = Attached.parse(await client.call("Target.attachToTarget", attach));
    await client.call("Page.enable", {}, sessionId);
    const loaded = client.heard("Page.loadEventFired");
    // Nobody waits for it when the navigation fails first.
    loaded.catch(() => undefined);
    await client.call("Page.navigate", { url: siteUrl }, sessionId);
    await loaded;
    await client.call("Runtime.evaluate", { expression: "1 + 1" }, sessionId);
  } finally {
    webSocket.terminate();
  }
}

class RawClient {
  readonly #webSocket: WebSocket;
  #lastId = 0;

  constructor(webSocket: WebSocket) {
    this.#webSocket = webSocket;
  }

  async call(method: string, params: object = {}, sessionId?: string): Promise<unknown> {
    this.#lastId += 1;
    const id = this.#lastId;
    const answer = this.#first((message) => message.id === id, method);
    this.#webSocket.send(JSON.stringify({ id, method, params, ...(sessionId && { sessionId }) }));
    const { result, error } = await answer;
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  async heard(method: string): Promise<void> {
    await this.#first((message) => message.method === method, method);
  }

  #first(isIt: (message: Message) => boolean, what: string): Promise<Message> {
    const webSocket = this.#webSocket;
    return new Promise((resolve, reject) => {
      const end = (settle: () => void): void => {
        clearTimeout(timer);
        webSocket.off("message", hear);
        webSocket.off("close", closed);
        settle();
      };
      const hear = (data: unknown): void => {
        const message = Message.parse(JSON.parse(String(data)));
        if (isIt(message)) end(() => resolve(message));
      };
      const closed = (): void => end(() => reject(new Error(`${what}: the socket closed`)));
      const late = (): void => end(() => reject(new Error(`${what}: no answer`)));
      const timer = setTimeout(late, PAGE_MS);
      webSocket.on("message", hear);
      webSocket.on("close", closed);
    });
  }
}
