import * as z from "zod";
import { CLOSING, type ClientCall, messageOf } from "./call.ts";
import { type Envelope, EnvelopeReader, type JsonObject, isObject } from "./envelope.ts";
import { HiddenTargets } from "./hidden-targets.ts";
import { Inflow } from "./inflow.ts";
import { tooLongText } from "./message-ends.ts";
import { OpenDialogs } from "./open-dialogs.ts";
import { Outflow } from "./outflow.ts";
import type { CdpPipe } from "./pipe.ts";
import type { Route } from "./route.ts";
import { type Call, SessionTree, type MuxClient, type MuxSession } from "./sessions.ts";
import { RESUME, Starts, startKindOf } from "./starts.ts";

const NO_SESSION = { code: -32001, message: "Session with given id not found." };

/** Events that say that a session has begun or ended below another one. */
const CHILD_EVENTS: ReadonlySet<string | null> = new Set([
  "Target.attachedToTarget",
  "Target.detachedFromTarget",
]);

/** The changes to messages between clients and browser that hide the forwarder from both. */
export interface Wire {
  /** A message of the browser, as clients are to see it. */
  plain(bytes: Buffer): Buffer;
  /** A call of a client, as the browser is to have it. */
  chained(call: ClientCall): ClientCall;
}

/** A target that has been attached. */
const Attached = z.object({
  /** Whether the target stands still until its client lets it run. */
  waitingForDebugger: z.boolean(),
  targetInfo: z.object({
    targetId: z.string(),
    type: z.string(),
    canAccessOpener: z.boolean().default(false),
  }),
});

const UNCHANGED: Wire = { plain: (bytes) => bytes, chained: (call) => call };

interface OwnCall {
  resolve: (result: JsonObject) => void;
  reject: (error: Error) => void;
}

/**
 * Many CDP clients on one browser. Each client gets a browser-level session of its own and sees nothing of the
 * others: messages of a session go to the client that owns it, and a client reaches only its own sessions.
 */
export class CdpMux {
  /** Bounds what is on its way to the browser. */
  readonly inflow: Inflow;
  /** Bounds what waits for clients. */
  readonly outflow: Outflow;
  /** A client has made a context of which it does not know yet. */
  onContext: (browserContextId: string) => void = () => {};
  /** A client's browser-level session has ended. */
  onLeft: () => void = () => {};
  readonly #pipe: CdpPipe;
  readonly #wire: Wire;
  readonly #tree = new SessionTree();
  readonly #clients = new Set<MuxClient>();
  readonly #own = new Map<number, OwnCall>();
  readonly #hidden = new HiddenTargets();
  readonly #dialogs = new OpenDialogs(this.#tree, (...call) => this.call(...call));
  /** Null while a new target runs as soon as one client lets it. */
  #starts: Starts | null = null;
  /** Work that has to come before a page closes or goes elsewhere. */
  #lastWork: ((call: ClientCall | null) => Promise<void> | null) | null = null;
  #nextId = 1;
  #isClosed = false;

  constructor(pipe: CdpPipe, onClose: () => void, wire: Wire = UNCHANGED) {
    this.#wire = wire;
    this.#pipe = pipe;
    this.inflow = new Inflow(pipe);
    this.outflow = new Outflow(pipe);
    const plain = (bytes: Buffer): Buffer => wire.plain(bytes);
    let reader = new EnvelopeReader(plain);
    const end = (): void => {
      const message = reader.end();
      reader = new EnvelopeReader(plain);
      if ("tooLong" in message) this.#drop(message.tooLong);
      else this.#receive(message);
    };
    pipe.read({ piece: (bytes) => reader.push(bytes), end }, () => {
      onClose();
      this.#close();
    });
  }

  /** How many clients are attached that are not the pool itself. */
  get clientCount(): number {
    return [...this.#clients].filter(({ isOfPool = false }) => !isOfPool).length;
  }

  /** How much the multiplexer remembers, for tests that look for leaks. */
  get remembered(): { sessions: number; calls: number; clients: number; starts: number } {
    return { ...this.#tree.size, clients: this.#clients.size, starts: this.#starts?.size ?? 0 };
  }

  /** From now on a new target runs when all the clients that it was stopped for are ready, `leading` among them. */
  startTogether(leading: MuxClient): void {
    this.#starts ??= new Starts(
      (sessionId) => this.#tree.get(sessionId) !== null,
      (sessionId) => this.#tree.get(sessionId)?.client === leading,
    );
  }

  /** From now on calls that close a page, or take it elsewhere, are sent on when `work` is done; null: at once. Of clients that go as well. */
  beforeClosing(work: (call: ClientCall | null) => Promise<void> | null): void {
    this.#lastWork = work;
  }

  /** Gives a client its browser-level session. */
  async attach(client: MuxClient): Promise<void> {
    this.#clients.add(client);
    const { sessionId } = await this.call("Target.attachToBrowserTarget");
    if (typeof sessionId !== "string") throw new Error("the browser gave no session");
    if (!this.#clients.has(client)) this.#forgetRoot(sessionId);
    else this.#tree.addRoot(sessionId, client);
  }

  /** Ends a client's session and all sessions below it. */
  detach(client: MuxClient): void {
    this.#clients.delete(client);
    const root = this.#tree.rootOf(client);
    if (!root) return;
    this.#forget(root.id);
    // Contexts of a raw client go with its session, and their pages with them.
    const last = this.#lastWork?.(null);
    if (last) void last.finally(() => this.#forgetRoot(root.id));
    else this.#forgetRoot(root.id);
  }

  /** Sends a client's call. Returns false when the browser is slow to take it. */
  send(client: MuxClient, call: ClientCall): boolean {
    const session = call.sessionId ? this.#tree.get(call.sessionId) : this.#tree.rootOf(client);
    if (session?.client !== client) {
      const where = call.sessionId ? { sessionId: call.sessionId } : {};
      client.answer({ id: call.id, error: NO_SESSION, ...where });
      return true;
    }
    const before = this.#lastWork && CLOSING.has(call.method) ? this.#lastWork(call) : null;
    const waits = before ?? this.#hidden.blocks(client, call);
    if (waits) {
      void waits.finally(() => this.#passLate(session, call));
      return true;
    }
    if (call.method !== RESUME || !this.#starts) return this.#pass(session, call);
    const where = call.sessionId ? { sessionId: call.sessionId } : {};
    this.#starts.take(session.id, {
      send: () => this.#pass(session, call),
      answer: () => client.answer({ id: call.id, result: {}, ...where }),
    });
    return true;
  }

  /** A session that has ended meanwhile has no more to say. */
  #passLate(session: MuxSession, call: ClientCall): void {
    if (!this.#isClosed && this.#tree.get(session.id) === session) this.#pass(session, call);
  }

  #pass(session: MuxSession, call: ClientCall): boolean {
    if (this.#dialogs.takes(session, call)) return true;
    const { client } = session;
    const id = this.#nextId++;
    this.#tree.addCall(id, { client, clientId: call.id, method: call.method, session });
    return this.#pipe.write(messageOf(this.#wire.chained(call), id, session.id));
  }

  /** Makes a call of the host itself, outside of any client's session unless it names one. Rejects when the browser is gone. */
  call(method: string, params: JsonObject = {}, sessionId?: string): Promise<JsonObject> {
    if (this.#isClosed) return Promise.reject(new Error("the browser is gone"));
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#own.set(id, { resolve, reject });
      this.#pipe.write(JSON.stringify({ id, method, params, sessionId }));
    });
  }

  /** Does work whose new targets only one client sees, while nobody else uses the browser. */
  unseen<Result>(client: MuxClient, work: () => Promise<Result>): Promise<Result> {
    return this.#hidden.during(client, work);
  }

  /** Opens a tab that only one client sees, while others use the browser. */
  openUnseen<Result>(client: MuxClient, open: () => Promise<Result>): Promise<Result> {
    return this.#hidden.open(client, () => this.call("Browser.getVersion"), open);
  }

  #forgetRoot(sessionId: string): void {
    // Nobody waits: a session that has ended already is as good.
    this.call("Target.detachFromTarget", { sessionId }).catch(() => {});
    this.onLeft();
  }

  #receive(envelope: Envelope): void {
    if (envelope.id !== null) {
      this.#receiveReply(envelope, envelope.id);
      return;
    }
    const session = this.#tree.get(envelope.sessionId);
    if (!session || this.#hidden.conceals(session.client, envelope)) return;
    const child = CHILD_EVENTS.has(envelope.method) ? envelope.child : null;
    const isAttached = envelope.method === "Target.attachedToTarget";
    if (child && this.#hidden.forget(child)) return;
    if (child && isAttached && this.#hidden.hides(session.client, child, envelope))
      return this.#letGo(session, child);
    if (child && isAttached) this.#begin(child, session, envelope);
    this.#dialogs.hear(session, envelope);
    session.client.deliver(envelope, null, session.parent !== null);
    if (child && !isAttached) this.#forget(child);
  }

  #begin(child: string, session: MuxSession, envelope: Envelope): void {
    const attached = Attached.safeParse(envelope.object().params).data;
    this.#tree.addChild(child, session, attached?.targetInfo.targetId ?? null);
    if (!attached?.waitingForDebugger) return;
    const { targetId, type, canAccessOpener } = attached.targetInfo;
    this.#starts?.stopped(targetId, child, startKindOf(type, canAccessOpener));
  }

  #forget(sessionId: string): void {
    this.#tree.forget(sessionId);
    this.#starts?.sweep();
    this.#dialogs.sweep();
  }

  /** Lets go of a target that the browser has attached to a client that is not to see it. */
  #letGo(session: MuxSession, child: string): void {
    // Nobody waits: a target that has closed already is as good.
    this.call("Runtime.runIfWaitingForDebugger", {}, child).catch(() => {});
    this.call("Target.detachFromTarget", { sessionId: child }, session.id).catch(() => {});
  }

  /** Tells whom a message was for, of which there is only where it was to go. */
  #drop({ id, sessionId }: Route): void {
    const own = id === null ? undefined : this.#own.get(id);
    const call = id === null ? null : this.#tree.takeCall(id);
    const session = call?.session ?? this.#tree.get(sessionId);
    if (id !== null && own) {
      this.#own.delete(id);
      own.reject(new Error(tooLongText("The browser's answer")));
    } else if (session && (call || id === null))
      session.client.missed(
        call && { id: call.clientId, method: call.method },
        session.parent ? session.id : null,
      );
  }

  #receiveReply(envelope: Envelope, id: number): void {
    const own = this.#own.get(id);
    if (own) {
      this.#own.delete(id);
      settle(own, envelope.object());
      return;
    }
    const call = this.#tree.takeCall(id);
    if (!call) return;
    if (call.method.startsWith("Target.attachTo")) this.#adopt(envelope, call);
    if (call.method === "Target.createBrowserContext") this.#noteContext(envelope);
    call.client.deliver(envelope, call.clientId, call.session.parent !== null);
  }

  // The reply names the new session as its event does; whichever comes first counts.
  #adopt(envelope: Envelope, call: Call): void {
    const { result } = envelope.object();
    if (isObject(result) && typeof result.sessionId === "string")
      this.#tree.addChild(result.sessionId, call.session, null);
  }

  #noteContext(envelope: Envelope): void {
    const { result } = envelope.object();
    if (isObject(result) && typeof result.browserContextId === "string")
      this.onContext(result.browserContextId);
  }

  #close(): void {
    this.#isClosed = true;
    const clients = [...this.#clients];
    this.#clients.clear();
    this.#tree.clear();
    for (const own of this.#own.values()) own.reject(new Error("the browser is gone"));
    this.#own.clear();
    for (const client of clients) client.gone();
  }
}

function settle(own: OwnCall, reply: JsonObject): void {
  const { result, error } = reply;
  if (isObject(error)) own.reject(new Error(String(error.message)));
  else own.resolve(isObject(result) ? result : {});
}
