import { type ClientCall, paramsOf } from "./call.ts";
import { Envelope, type JsonObject } from "./envelope.ts";
import { Pieces } from "./pieces.ts";
import type { MuxSession } from "./sessions.ts";

const OPENING = "Page.javascriptDialogOpening";
const CLOSED = "Page.javascriptDialogClosed";
const ANSWER = "Page.handleJavaScriptDialog";

/** Longest text of a dialog that is kept: of a page's own there may be any amount. */
const TEXT_LENGTH = 16 * 1024;

interface OpenDialog {
  /** The parameters of its event, as JSON. */
  params: string;
  /** The sessions that the browser has told of it: it takes an answer from them alone. */
  told: Set<MuxSession>;
  /** The sessions that came later, and were told here. */
  late: Set<MuxSession>;
}

/** The sessions of a browser's clients. */
interface Sessions {
  get(id: string): MuxSession | null;
  of(target: string): MuxSession[];
}

type Ask = (method: string, params?: JsonObject, sessionId?: string) => Promise<JsonObject>;

/**
 * Dialogs that stand open in pages. Chromium tells of a dialog, and takes its answer, only where `Page.enable` was said before
 * it opened: whoever came later would find a page that answers nothing. Here they are told too, and answer by a session of
 * the pool's own that was there before.
 */
export class OpenDialogs {
  /** By target. */
  readonly #open = new Map<string, OpenDialog>();
  readonly #sessions: Sessions;
  readonly #ask: Ask;

  constructor(sessions: Sessions, ask: Ask) {
    this.#sessions = sessions;
    this.#ask = ask;
  }

  /** Takes note of an event that a session is told. */
  hear(session: MuxSession, envelope: Envelope): void {
    const { target } = session;
    const { method } = envelope;
    if (target === null || (method !== OPENING && method !== CLOSED)) return;
    const known = this.#open.get(target);
    if (method === CLOSED) this.#open.delete(target);
    else if (known) known.told.add(session);
    else {
      const params = keptOf(envelope.object().params);
      this.#open.set(target, { params, told: new Set([session]), late: new Set() });
      // Somebody may have said `Page.enable` while it opened.
      this.#tellLate(target);
    }
  }

  /** Takes note of a call. Answers whether it is the answer to a dialog, and is passed on from here. */
  takes(session: MuxSession, call: ClientCall): boolean {
    const { method } = call;
    const open = this.#open.get(session.target ?? "");
    if (method === "Page.disable") session.hearsPage = false;
    if (method === "Page.enable") {
      session.hearsPage = true;
      if (open && session.target !== null) this.#tellLate(session.target);
    }
    const way = method === ANSWER && open?.late.has(session) ? this.#wayOf(open) : null;
    if (way) void this.#answer(way, session, call);
    return way !== null;
  }

  /** Forgets the dialogs of pages that have gone. */
  sweep(): void {
    for (const [target, open] of this.#open)
      if (![...open.told].some((session) => this.#isThere(session))) this.#open.delete(target);
  }

  #isThere(session: MuxSession): boolean {
    return this.#sessions.get(session.id) === session;
  }

  /** A session of the pool's own by which an answer may go: customers' sessions are theirs. */
  #wayOf({ told }: OpenDialog): MuxSession | null {
    return [...told].find((one) => one.client.isOfPool === true && this.#isThere(one)) ?? null;
  }

  async #answer(way: MuxSession, session: MuxSession, call: ClientCall): Promise<void> {
    const reply = await this.#pass(way, call);
    if (this.#isThere(session))
      session.client.answer({ id: call.id, ...reply, sessionId: session.id });
  }

  async #pass(way: MuxSession, call: ClientCall): Promise<JsonObject> {
    try {
      return { result: await this.#ask(ANSWER, paramsOf(call), way.id) };
    } catch (error) {
      // The browser has refused the answer, or its parameters are no parameters.
      return { error: { code: -32602, message: error instanceof Error ? error.message : "" } };
    }
  }

  #tellLate(target: string): void {
    const tell = (): void => {
      const open = this.#open.get(target);
      if (!open || !this.#wayOf(open)) return;
      for (const session of this.#sessions.of(target)) {
        if (!session.hearsPage || open.told.has(session) || open.late.has(session)) continue;
        open.late.add(session);
        session.client.deliver(eventOf(session, open), null, true);
      }
    };
    // Once the browser has answered this, all have heard of the dialog whom it tells itself. One that is gone tells nobody.
    this.#ask("Browser.getVersion").then(tell, () => {});
  }
}

function keptOf(params: unknown): string {
  return JSON.stringify(params, (_name, value: unknown) =>
    typeof value === "string" ? value.slice(0, TEXT_LENGTH) : value,
  );
}

function eventOf({ id }: MuxSession, { params }: OpenDialog): Envelope {
  const pieces = new Pieces();
  pieces.push(Buffer.from(`{"method":"${OPENING}","params":${params},"sessionId":"${id}"}`));
  return new Envelope(pieces);
}
