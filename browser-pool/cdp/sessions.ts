import type { Envelope, JsonObject } from "./envelope.ts";

/** A call whose reply was too long to be passed: as its client sent it. */
export interface Missed {
  id: number;
  method: string;
}

/** A client of the multiplexer. */
export interface MuxClient {
  /** Whether the client is the pool itself, and nobody who drives the browser. */
  readonly isOfPool?: boolean;
  /** Takes a message of one of the client's sessions; a reply carries the id that the client gave. */
  deliver(envelope: Envelope, id: number | null, keepsSession: boolean): void;
  /** Hears that a message of one of the client's sessions was too long to be passed: the reply to its call, or an event. */
  missed(call: Missed | null, sessionId: string | null): void;
  /** Hears that a session has ended with this call unanswered. Customers hear of it by the end of their session alone, as from Chromium. */
  forgotten?(clientId: number): void;
  /** Takes a reply that the multiplexer made itself. */
  answer(message: JsonObject): void;
  /** Called when the browser is gone. */
  gone(): void;
}

export interface MuxSession {
  id: string;
  client: MuxClient;
  /** Null for a client's own browser-level session, whose id it never learns. */
  parent: MuxSession | null;
  children: Set<MuxSession>;
  calls: Set<number>;
  /** Null for a client's own browser-level session. */
  target: string | null;
  /** Whether its client listens to the events of its page. */
  hearsPage: boolean;
}

export interface Call {
  client: MuxClient;
  clientId: number;
  method: string;
  session: MuxSession;
}

/** The owner of each session, and the calls under way. Calls are forgotten with their session. */
export class SessionTree {
  readonly #sessions = new Map<string, MuxSession>();
  readonly #roots = new Map<MuxClient, MuxSession>();
  readonly #calls = new Map<number, Call>();

  get size(): { sessions: number; calls: number } {
    return { sessions: this.#sessions.size, calls: this.#calls.size };
  }

  get(id: string | null): MuxSession | null {
    return id === null ? null : (this.#sessions.get(id) ?? null);
  }

  rootOf(client: MuxClient): MuxSession | null {
    return this.#roots.get(client) ?? null;
  }

  addRoot(id: string, client: MuxClient): void {
    this.#roots.set(client, this.#add(id, client, null));
  }

  addChild(id: string, parent: MuxSession, target: string | null): void {
    const known = this.#sessions.get(id);
    if (known) known.target ??= target;
    if (known || !this.#sessions.has(parent.id)) return;
    const child = this.#add(id, parent.client, parent);
    child.target = target;
    parent.children.add(child);
  }

  /** The sessions of a target. */
  of(target: string): MuxSession[] {
    return [...this.#sessions.values()].filter((session) => session.target === target);
  }

  /** Forgets a session with its children and their calls: the browser answers them no more. */
  forget(id: string): void {
    const session = this.#sessions.get(id);
    if (!session) return;
    for (const child of session.children) this.forget(child.id);
    for (const call of session.calls) this.#forgetCall(call);
    session.parent?.children.delete(session);
    if (!session.parent) this.#roots.delete(session.client);
    this.#sessions.delete(id);
  }

  #forgetCall(id: number): void {
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    call?.client.forgotten?.(call.clientId);
  }

  addCall(id: number, call: Call): void {
    this.#calls.set(id, call);
    call.session.calls.add(id);
  }

  takeCall(id: number): Call | null {
    const call = this.#calls.get(id);
    if (!call) return null;
    this.#calls.delete(id);
    call.session.calls.delete(id);
    return call;
  }

  clear(): void {
    this.#sessions.clear();
    this.#roots.clear();
    this.#calls.clear();
  }

  #add(id: string, client: MuxClient, parent: MuxSession | null): MuxSession {
    const session: MuxSession = {
      id,
      client,
      parent,
      children: new Set<MuxSession>(),
      calls: new Set<number>(),
      target: null,
      hearsPage: false,
    };
    this.#sessions.set(id, session);
    return session;
  }
}
