import type { ClientCall } from "./call.ts";
import { Envelope, type JsonObject, isObject } from "./envelope.ts";
import type { CdpPipe } from "./pipe.ts";
import { type Call, SessionTree, type MuxClient } from "./sessions.ts";

const NO_SESSION = { code: -32001, message: "Session with given id not found." };

interface OwnCall {
  resolve: (result: JsonObject) => void;
  reject: (error: Error) => void;
}

/**
 * Many CDP clients on one browser. Each client gets a browser-level session of its own and sees nothing of the
 * others: messages of a session go to the client that owns it, and a client reaches only its own sessions.
 */
export class CdpMux {
  readonly #pipe: CdpPipe;
  readonly #tree = new SessionTree();
  readonly #clients = new Set<MuxClient>();
  readonly #own = new Map<number, OwnCall>();
  #nextId = 1;
  #isClosed = false;

  constructor(pipe: CdpPipe, onClose: () => void) {
    this.#pipe = pipe;
    pipe.open(
      (bytes) => this.#receive(new Envelope(bytes)),
      () => {
        onClose();
        this.#close();
      },
    );
  }

  /** How many clients are attached. */
  get clientCount(): number {
    return this.#clients.size;
  }

  /** How much the multiplexer remembers, for tests that look for leaks. */
  get remembered(): { sessions: number; calls: number; clients: number } {
    return { ...this.#tree.size, clients: this.#clients.size };
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
    this.#tree.forget(root.id);
    this.#forgetRoot(root.id);
  }

  /** Sends a client's call. Returns false when the browser is slow to take it. */
  send(client: MuxClient, call: ClientCall): boolean {
    const session = call.sessionId ? this.#tree.get(call.sessionId) : this.#tree.rootOf(client);
    if (session?.client !== client) {
      const where = call.sessionId ? { sessionId: call.sessionId } : {};
      client.answer({ id: call.id, error: NO_SESSION, ...where });
      return true;
    }
    const id = this.#nextId++;
    this.#tree.addCall(id, { client, clientId: call.id, method: call.method, session });
    return this.#pipe.write(JSON.stringify({ ...call, id, sessionId: session.id }));
  }

  /** Makes a call of the host itself, outside of any client's session. Rejects when the browser is gone. */
  call(method: string, params: JsonObject = {}): Promise<JsonObject> {
    if (this.#isClosed) return Promise.reject(new Error("the browser is gone"));
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#own.set(id, { resolve, reject });
      this.#pipe.write(JSON.stringify({ id, method, params }));
    });
  }

  #forgetRoot(sessionId: string): void {
    // Nobody waits: a session that has ended already is as good.
    this.call("Target.detachFromTarget", { sessionId }).catch(() => {});
  }

  #receive(envelope: Envelope): void {
    if (envelope.id !== null) {
      this.#receiveReply(envelope, envelope.id);
      return;
    }
    const session = this.#tree.get(envelope.sessionId);
    if (!session) return;
    if (envelope.method === "Target.attachedToTarget") {
      const child = childOf(envelope);
      if (child) this.#tree.addChild(child, session);
    }
    session.client.deliver(envelope, null, session.parent !== null);
    if (envelope.method === "Target.detachedFromTarget") {
      const child = childOf(envelope);
      if (child) this.#tree.forget(child);
    }
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
    call.client.deliver(envelope, call.clientId, call.session.parent !== null);
  }

  // The reply names the new session as its event does; whichever comes first counts.
  #adopt(envelope: Envelope, call: Call): void {
    const { result } = envelope.object();
    if (isObject(result) && typeof result.sessionId === "string")
      this.#tree.addChild(result.sessionId, call.session);
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

function childOf(envelope: Envelope): string | null {
  const { params } = envelope.object();
  return isObject(params) && typeof params.sessionId === "string" ? params.sessionId : null;
}

function settle(own: OwnCall, reply: JsonObject): void {
  const { result, error } = reply;
  if (isObject(error)) own.reject(new Error(String(error.message)));
  else own.resolve(isObject(result) ? result : {});
}
