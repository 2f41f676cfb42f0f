import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import type { BrowserKind } from "@svc/contract/browser/session.ts";
import type { ViewerOptions } from "@svc/contract/browser/observer.ts";
import { type InputMessage, PageAsks, isReachable } from "@svc/contract/browser/take-over.ts";
import { FEED_TICKET_HEADER, type FeedOrder } from "@svc/contract/host-protocol/feed.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { DurableObject } from "cloudflare:workers";
import { refuse } from "./host-calls/relay.ts";
import { arm } from "./live/alarm.ts";
import { Audience } from "./observer/audience.ts";
import { Custody, farewellOf, toldOf } from "./observer/custody.ts";
import { Feed } from "./observer/feed.ts";
import { mintUploadPath } from "./observer/upload-path.ts";
import { jsonOf, readMessage } from "./observer/messages.ts";
import { VIEWER_HEADER, Viewer, ViewerFacts } from "./observer/viewer.ts";
import { TABS_ALONE, WatchOrders } from "./observer/watch-orders.ts";
import { EXPIRED, MALFORMED, NO_POOL, READ_ONLY, TAKEN } from "./observer/words.ts";
import type { Handoff } from "./session/handoff.ts";

const VIEWER = "viewer";
const ASK_AGAIN_MS = 1_000;
/** The session behind a feed has ended: its viewers are told the same. */
const ENDS: readonly number[] = [CLOSE_CODES.gone, CLOSE_CODES.deadline];

/**
 * The viewers of one session, by the session's id, and the person who has taken it over: their sockets sleep while nothing
 * moves. The pool dials in when the first one comes, and is let go of when the last one has left.
 */
export class ObserverDO extends DurableObject<Env> {
  readonly #feed = new Feed(this.ctx, this.env);
  readonly #audience = new Audience((seq) => this.#order({ type: "ack", seq }));
  readonly #orders = new WatchOrders(
    () => this.#audience.watch ?? (this.#custody.awaitsUrl ? TABS_ALONE : null),
    (watch) => this.#order({ type: "watch", ...watch }),
  );
  readonly #custody = new Custody(this.ctx.storage);
  /** Upgrades under way. */
  #entering = 0;
  #isPersonEntering = false;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    for (const socket of ctx.getWebSockets(VIEWER))
      this.#audience.add(new Viewer(socket, ViewerFacts.parse(socket.deserializeAttachment())));
    this.#audience.hide((this.#custody.held?.until ?? 0) > Date.now());
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
    if (!this.#feed.is(socket)) return;
    if (!this.#isShown(message))
      socket.close(CLOSE_CODES.protocolBroken, "This is nothing that a browser shows.");
    this.#orders.send();
    if (typeof message === "string") await this.#arrived();
  }

  override webSocketClose(socket: WebSocket, code: number, reason: string): void {
    if (!this.#audience.get(socket)) return this.#feedClosed(code, reason);
    this.#audience.remove(socket);
    this.#left();
  }

  override webSocketError(socket: WebSocket): void {
    this.webSocketClose(socket, 1006, "");
  }

  /** Tokens and hand-offs expire. */
  override async alarm(): Promise<void> {
    const now = Date.now();
    for (const viewer of this.#audience.all)
      if ((viewer.facts.expiresAt ?? Infinity) <= now)
        this.#dismiss(viewer, CLOSE_CODES.tokenExpired, EXPIRED);
    if ((this.#custody.held?.until ?? Infinity) <= now) this.#audience.hide(this.#custody.end());
    this.#left();
    await this.#arm();
  }

  async #enter(request: Request): Promise<Response> {
    const facts = ViewerFacts.parse(JSON.parse(request.headers.get(VIEWER_HEADER) ?? ""));
    const isPerson = facts.handoff !== null;
    if (isPerson && (this.#audience.person || this.#isPersonEntering)) return refuse(409, TAKEN);
    if (this.#audience.size + this.#entering >= LIMITS.sessionObservers)
      return refuse(429, `This session has ${LIMITS.sessionObservers} observers: close one first.`);
    this.#entering += 1;
    this.#isPersonEntering ||= isPerson;
    try {
      const opened = await this.#feed.open(facts.id);
      if ("refused" in opened)
        return refuse(opened.refused.why === "failed" ? 502 : 404, opened.refused.text);
      const handoff = await this.#handOver(facts);
      if (isPerson && !handoff) return refuse(404, "The hand-off is over.");
      return await this.#accept(facts, opened.kind, handoff);
    } finally {
      this.#entering -= 1;
      if (isPerson) this.#isPersonEntering = false;
      this.#left();
    }
  }

  /** Hands the session to a person; a viewer who only watches changes nothing. Null: the hand-off is over. */
  async #handOver({ id, handoff }: ViewerFacts): Promise<Handoff | null> {
    if (handoff === null) return null;
    const taken = await this.env.SESSIONS.getByName(id).takeHandoff(handoff);
    if (taken) this.#audience.hide(this.#custody.is(id, taken));
    return taken;
  }

  async #accept(facts: ViewerFacts, kind: BrowserKind, handoff: Handoff | null): Promise<Response> {
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server, [VIEWER]);
    const viewer = new Viewer(server, facts);
    this.#audience.add(viewer);
    const mode = handoff ? "control" : "observe";
    viewer.tell({ type: "hello", v: 1, kind, mode, fps: facts.fps });
    if (handoff) viewer.tell(toldOf(handoff));
    viewer.tell(this.#audience.state);
    this.#orders.send();
    if (this.#audience.canShow(viewer)) this.#audience.show(viewer);
    else this.#order({ type: "show" });
    await this.#arm();
    return new Response(null, { status: 101, webSocket: client });
  }

  /** Whether a person is there who has the session. */
  hasPerson(): boolean {
    return this.#audience.person !== null;
  }

  /** The session says who has it: a person who has it no more is let go. */
  async handoffIs(id: string, handoff: Handoff): Promise<void> {
    const isHeld = this.#custody.is(id, handoff);
    this.#audience.hide(isHeld);
    for (const viewer of this.#audience.all)
      if (viewer.facts.handoff !== null && !(isHeld && viewer.facts.handoff === handoff.id))
        this.#dismiss(viewer, ...farewellOf(handoff));
    this.#left();
    await this.#arm();
  }

  #hear(viewer: Viewer, message: string | ArrayBuffer): Promise<void> | void {
    const read = readMessage(message, viewer.facts.handoff !== null);
    if (!read) return this.#fault(viewer);
    switch (read.type) {
      case "ack":
        viewer.acked(read.seq);
        return this.#audience.show(viewer);
      case "options": {
        const { type: _type, ...options } = read;
        return this.#choose(viewer, options);
      }
      case "handoff":
        return this.#handBack(viewer.facts, read.action === "done" ? "completed" : "cancelled");
      case "mouse":
      case "key":
      case "text":
      case "nav":
      case "tab":
      case "dialog":
      case "files":
        return this.#use(viewer, read);
      case "askUpload":
        return this.#offerUpload(viewer, read.name);
    }
  }

  #choose(viewer: Viewer, options: ViewerOptions): void {
    if (options.page && !this.#audience.knows(options.page))
      return viewer.refuse("NoSuchPage", "There is no such tab.");
    if (options.page && !this.#audience.hasPlaceFor(options.page, viewer)) {
      const most = `At most ${LIMITS.observedPages} tabs are shown to all observers together.`;
      return viewer.refuse("TooManyPages", most);
    }
    viewer.choose(options);
    this.#orders.send();
    this.#audience.show(viewer);
  }

  /** Passes on what the person does to the page before them. */
  #use(viewer: Viewer, input: InputMessage): void {
    if (input.type === "nav" && input.action === "goto" && !isReachable(input.url)) {
      const message = "nav: the url begins with http:// or https://";
      return viewer.refuse("Malformed", message);
    }
    const isShow = input.type === "tab" && input.action === "show";
    if (isShow && input.page !== undefined) this.#choose(viewer, { page: input.page });
    const page = this.#audience.pageOf(viewer);
    if (page !== null) this.#order({ type: "input", page, input });
  }

  /** Tells the person where the bytes of a file go: past this object. */
  async #offerUpload(viewer: Viewer, name: string): Promise<void> {
    const { id, expiresAt } = viewer.facts;
    const path = await mintUploadPath(this.env.SVC_SIGNING_SECRET, { id, name, expiresAt });
    viewer.tell({ type: "upload", name, path });
  }

  /** Tells the session first: the hand-off is the session's. A person whom the session does not hear still has it, and may say so again. */
  async #handBack(
    { id, handoff }: Pick<ViewerFacts, "id" | "handoff">,
    as: "completed" | "cancelled",
  ): Promise<void> {
    if (handoff === null) return;
    const { shownUrl } = this.#audience;
    const end = { as, ...(shownUrl !== null && { finalUrl: shownUrl }) };
    const ended = await this.env.SESSIONS.getByName(id).endHandoff(handoff, end);
    if (ended) await this.handoffIs(id, ended);
  }

  /** Ends the hand-off when the page has come to its `successUrl`. */
  async #arrived(): Promise<void> {
    const held = this.#custody.endedBy(this.#audience.shownUrl);
    if (held) await this.#handBack(held, "completed");
  }

  #fault(viewer: Viewer): void {
    const isPerson = viewer.facts.handoff !== null;
    const message = isPerson ? MALFORMED : READ_ONLY;
    if (viewer.fault() < LIMITS.observerFaults)
      return viewer.refuse(isPerson ? "Malformed" : "ReadOnly", message);
    this.#dismiss(viewer, CLOSE_CODES.observerWrote, message);
  }

  #dismiss(viewer: Viewer, code: number, reason: string): void {
    viewer.close(code, reason);
    this.#audience.remove(viewer.socket);
    this.#left();
  }

  #order(order: FeedOrder): void {
    this.#feed.send(order);
  }

  #takeFeed(ticket: string): Response {
    const response = this.#feed.take(ticket);
    if (response.status !== 101) return response;
    this.#audience.anew();
    this.#orders.begin();
    this.#order({ type: "show" });
    return response;
  }

  /** Takes what the pool shows. False: it is nothing of it. */
  #isShown(message: string | ArrayBuffer): boolean {
    if (typeof message !== "string") return this.#audience.frame(message);
    const asks = PageAsks.safeParse(jsonOf(message)).data;
    if (!asks) return this.#audience.pages(message);
    this.#audience.person?.tell(asks);
    return true;
  }

  #feedClosed(code: number, reason: string): void {
    if (this.#feed.isOpen || this.#audience.size === 0) return;
    if (ENDS.includes(code)) return this.#audience.closeAll(code, reason);
    this.#audience.tell({ ...this.#audience.state, status: "away" });
    this.ctx.waitUntil(this.#askAgain());
  }

  /** The feed was lost. The session may go on: its pool is asked until it is clear, or long enough. */
  async #askAgain(): Promise<void> {
    const until = Date.now() + LIMITS.poolLookupMs;
    for (;;) {
      const [viewer] = this.#audience.all;
      if (!viewer) return;
      const opened = await this.#feed.open(viewer.facts.id);
      if ("kind" in opened) {
        this.#audience.tell(this.#audience.state);
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
    if (this.#audience.size > 0 || this.#entering > 0 || this.#custody.awaitsUrl) return;
    this.#orders.stop();
    this.#feed.close();
  }

  async #arm(): Promise<void> {
    await arm(this.ctx.storage, () => ({
      held: this.#custody.held?.until,
      ...Object.fromEntries(this.#audience.all.map(({ facts }, at) => [at, facts.expiresAt])),
    }));
  }
}
