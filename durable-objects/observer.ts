import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import { FEED_TICKET_HEADER, type FeedOrder } from "@svc/contract/host-protocol/feed.ts";
import { ViewerMessage } from "@svc/contract/browser/observer.ts";
import { randomText } from "@svc/contract/ids.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { DurableObject } from "cloudflare:workers";
import type { FeedAnswer } from "./host-calls/feed-answer.ts";
import { refuse } from "./host-calls/relay.ts";
import { arm } from "./live/alarm.ts";
import { Audience } from "./observer/audience.ts";
import { VIEWER_HEADER, Viewer, ViewerFacts } from "./observer/viewer.ts";
import { WatchOrders } from "./observer/watch-orders.ts";

const FEED = "feed";
const VIEWER = "viewer";
const ASK_AGAIN_MS = 1_000;
/** The session behind a feed has ended: its viewers are told the same. */
const ENDS: readonly number[] = [CLOSE_CODES.gone, CLOSE_CODES.deadline];
const NO_POOL = "The session's browser pool is away: reconnect.";

/**
 * Those who watch one session, by the session's id: their sockets sleep while nothing moves. The pool dials in when the
 * first one comes, and is let go of when the last one has left. The session itself takes no notice.
 */
export class ObserverDO extends DurableObject<Env> {
  readonly #audience = new Audience((seq) => this.#order({ type: "ack", seq }));
  readonly #orders = new WatchOrders(
    () => this.#audience.watch,
    (watch) => this.#order({ type: "watch", ...watch }),
  );
  /** By which the pool proves that it was asked. */
  #ticket: string | null = null;
  #opening: Promise<FeedAnswer> | null = null;
  /** Upgrades under way. */
  #entering = 0;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    for (const socket of ctx.getWebSockets(VIEWER))
      this.#audience.add(new Viewer(socket, ViewerFacts.parse(socket.deserializeAttachment())));
    // What this object knew of the tabs and frames is gone.
    this.#order({ type: "show" });
  }

  override fetch(request: Request): Promise<Response> | Response {
    const ticket = request.headers.get(FEED_TICKET_HEADER);
    return ticket === null ? this.#enter(request) : this.#takeFeed(ticket);
  }

  override async webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): Promise<void> {
    const viewer = this.#audience.get(socket);
    if (viewer) return this.#hear(viewer, message);
    if (socket !== this.#feed()) return;
    const isKept =
      typeof message === "string" ? this.#audience.pages(message) : this.#audience.frame(message);
    if (!isKept) socket.close(CLOSE_CODES.protocolBroken, "This is neither a frame nor tabs.");
    this.#orders.send();
  }

  override webSocketClose(socket: WebSocket, code: number, reason: string): void {
    if (!this.#audience.get(socket)) return this.#feedClosed(code, reason);
    this.#audience.remove(socket);
    this.#left();
  }

  override webSocketError(socket: WebSocket): void {
    this.webSocketClose(socket, 1006, "");
  }

  /** Tokens expire. */
  override async alarm(): Promise<void> {
    const now = Date.now();
    for (const viewer of this.#audience.all) {
      if ((viewer.facts.expiresAt ?? Infinity) > now) continue;
      viewer.close(CLOSE_CODES.tokenExpired, "The token has expired: ask for a new one.");
      this.#audience.remove(viewer.socket);
    }
    this.#left();
    await this.#arm();
  }

  async #enter(request: Request): Promise<Response> {
    const facts = ViewerFacts.parse(JSON.parse(request.headers.get(VIEWER_HEADER) ?? ""));
    if (this.#audience.size + this.#entering >= LIMITS.sessionObservers)
      return refuse(429, `This session has ${LIMITS.sessionObservers} observers: close one first.`);
    this.#entering += 1;
    try {
      const opened = await this.#openFeed(facts.id);
      if ("refused" in opened)
        return refuse(opened.refused.why === "failed" ? 502 : 404, opened.refused.text);
      return await this.#accept(facts, opened.kind);
    } finally {
      this.#entering -= 1;
      this.#left();
    }
  }

  async #accept(facts: ViewerFacts, kind: "fast" | "stealth"): Promise<Response> {
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server, [VIEWER]);
    const viewer = new Viewer(server, facts);
    this.#audience.add(viewer);
    viewer.tell({ type: "hello", v: 1, kind, mode: "observe", fps: facts.fps });
    viewer.tell({ type: "state", status: "active" });
    this.#orders.send();
    if (this.#audience.canShow(viewer)) this.#audience.show(viewer);
    else this.#order({ type: "show" });
    await this.#arm();
    return new Response(null, { status: 101, webSocket: client });
  }

  #hear(viewer: Viewer, message: string | ArrayBuffer): void {
    const isShort = typeof message === "string" && message.length <= LIMITS.observerMessageBytes;
    const read = isShort ? ViewerMessage.safeParse(jsonOf(message)).data : undefined;
    if (!read) return this.#fault(viewer);
    if (read.type === "ack") {
      viewer.acked(read.seq);
      return this.#audience.show(viewer);
    }
    const { type: _type, ...options } = read;
    if (options.page && !this.#audience.hasPlaceFor(options.page, viewer)) {
      const most = `At most ${LIMITS.observedPages} tabs are shown to all observers together.`;
      return viewer.tell({ type: "error", code: "TooManyPages", message: most });
    }
    viewer.choose(options);
    this.#orders.send();
    this.#audience.show(viewer);
  }

  #fault(viewer: Viewer): void {
    const message = "This stream is read only: send ack and options, and nothing else.";
    if (viewer.fault() < LIMITS.observerFaults)
      return viewer.tell({ type: "error", code: "ReadOnly", message });
    viewer.close(CLOSE_CODES.observerWrote, message);
    this.#audience.remove(viewer.socket);
    this.#left();
  }

  /** The feed that is there; null before the pool has dialled in. */
  #feed(): WebSocket | null {
    const open = this.ctx.getWebSockets(FEED).filter(({ readyState }) => readyState === 1);
    return open.at(-1) ?? null;
  }

  #order(order: FeedOrder): void {
    this.#feed()?.send(JSON.stringify(order));
  }

  /** Has the pool dial in, unless it has. */
  #openFeed(id: string): Promise<FeedAnswer> {
    const kind: unknown = this.#feed()?.deserializeAttachment();
    if (kind === "fast" || kind === "stealth") return Promise.resolve({ kind });
    this.#opening ??= this.#askFeed(id).finally(() => (this.#opening = null));
    return this.#opening;
  }

  async #askFeed(id: string): Promise<FeedAnswer> {
    this.#ticket = randomText(32);
    const opened = await this.env.SESSIONS.getByName(id).openFeed(this.#ticket);
    this.#ticket = null;
    if ("kind" in opened) this.#feed()?.serializeAttachment(opened.kind);
    return opened;
  }

  #takeFeed(ticket: string): Response {
    if (ticket !== this.#ticket) return refuse(404, "Nobody asked for this feed.");
    this.#ticket = null;
    const { 0: client, 1: server } = new WebSocketPair();
    const before = this.ctx.getWebSockets(FEED);
    server.binaryType = "arraybuffer";
    this.ctx.acceptWebSocket(server, [FEED]);
    for (const each of before) each.close(CLOSE_CODES.normal, "Another feed has come.");
    this.#audience.anew();
    this.#orders.begin();
    this.#order({ type: "show" });
    return new Response(null, { status: 101, webSocket: client });
  }

  #feedClosed(code: number, reason: string): void {
    if (this.#feed() || this.#audience.size === 0) return;
    if (ENDS.includes(code)) return this.#audience.closeAll(code, reason);
    this.#audience.tell({ type: "state", status: "away" });
    this.ctx.waitUntil(this.#askAgain());
  }

  /** The feed was lost. The session may go on: its pool is asked until it is clear, or long enough. */
  async #askAgain(): Promise<void> {
    const until = Date.now() + LIMITS.poolLookupMs;
    for (;;) {
      const [viewer] = this.#audience.all;
      if (!viewer) return;
      const opened = await this.#openFeed(viewer.facts.id);
      if ("kind" in opened) {
        this.#audience.tell({ type: "state", status: "active" });
        return this.#left();
      }
      const { why, text } = opened.refused;
      if (why === "ended") return this.#audience.closeAll(CLOSE_CODES.gone, text);
      if (Date.now() >= until) return this.#audience.closeAll(CLOSE_CODES.restart, NO_POOL);
      await scheduler.wait(ASK_AGAIN_MS);
    }
  }

  /** Nobody watches any more: the pool is let go of. */
  #left(): void {
    this.#orders.send();
    if (this.#audience.size > 0 || this.#entering > 0) return;
    this.#orders.stop();
    this.#feed()?.close(CLOSE_CODES.normal, "Nobody watches.");
  }

  async #arm(): Promise<void> {
    await arm(this.ctx.storage, () =>
      Object.fromEntries(this.#audience.all.map(({ facts }, at) => [at, facts.expiresAt])),
    );
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
