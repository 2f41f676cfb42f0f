import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import type { FeedOrder } from "@svc/contract/host-protocol/feed.ts";
import { randomText } from "@svc/contract/ids.ts";
import type { FeedAnswer } from "../host-calls/feed-answer.ts";
import { refuse } from "../host-calls/relay.ts";

const FEED = "feed";
const TICKET_LENGTH = 32;
const OPEN = 1;

/** The socket by which the session's pool shows what its browser shows: the newest one, if there are several. */
export class Feed {
  readonly #ctx: DurableObjectState;
  readonly #env: Env;
  /** By which the pool proves that it was asked. */
  #ticket: string | null = null;
  #opening: Promise<FeedAnswer> | null = null;

  constructor(ctx: DurableObjectState, env: Env) {
    this.#ctx = ctx;
    this.#env = env;
  }

  get isOpen(): boolean {
    return this.#socket !== null;
  }

  is(socket: WebSocket): boolean {
    return socket === this.#socket;
  }

  /** Has the pool dial in, unless it has. */
  open(id: string): Promise<FeedAnswer> {
    const kind: unknown = this.#socket?.deserializeAttachment();
    if (kind === "fast" || kind === "stealth") return Promise.resolve({ kind });
    this.#opening ??= this.#ask(id).finally(() => (this.#opening = null));
    return this.#opening;
  }

  /** Takes the pool's upgrade, if it was asked for. */
  take(ticket: string): Response {
    if (ticket !== this.#ticket) return refuse(404, "Nobody asked for this feed.");
    this.#ticket = null;
    const { 0: client, 1: server } = new WebSocketPair();
    const before = this.#ctx.getWebSockets(FEED);
    this.#ctx.acceptWebSocket(server, [FEED]);
    for (const each of before) each.close(CLOSE_CODES.normal, "Another feed has come.");
    return new Response(null, { status: 101, webSocket: client });
  }

  send(order: FeedOrder): void {
    this.#socket?.send(JSON.stringify(order));
  }

  close(): void {
    this.#socket?.close(CLOSE_CODES.normal, "Nobody watches.");
  }

  async #ask(id: string): Promise<FeedAnswer> {
    this.#ticket = randomText(TICKET_LENGTH);
    const answer = await this.#env.SESSIONS.getByName(id).openFeed(this.#ticket);
    this.#ticket = null;
    if ("kind" in answer) this.#socket?.serializeAttachment(answer.kind);
    return answer;
  }

  get #socket(): WebSocket | null {
    const open = this.#ctx.getWebSockets(FEED).filter(({ readyState }) => readyState === OPEN);
    return open.at(-1) ?? null;
  }
}
