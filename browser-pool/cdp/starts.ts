/** The call by which a client lets a new target run that was stopped for the client's sake. */
export const RESUME = "Runtime.runIfWaitingForDebugger";

/** A session's word that its target may run: sent on to the browser, or answered in its place. */
export interface Word {
  send: () => void;
  answer: () => void;
}

/**
 * Who lets a new target run. `each`: Chromium waits for each session that it stopped the target for. `any`: for the first of
 * them, as with workers. `popup`: for the first of them too, and the opener waits in the middle of its script.
 */
export type StartKind = "each" | "any" | "popup";

const EACH: ReadonlySet<string> = new Set(["page", "iframe", "tab", "webview"]);

/** By what `Target.attachedToTarget` tells of the target. */
export function startKindOf(type: string, canAccessOpener: boolean): StartKind {
  if (type === "page" && canAccessOpener) return "popup";
  return EACH.has(type) ? "each" : "any";
}

interface Start {
  readonly kind: StartKind;
  /** The sessions that the target was stopped for, and that have yet to let it run. */
  readonly waiting: Set<string>;
  readonly ready: Map<string, Word>;
}

/**
 * Lets a new target run when every client that it was stopped for is ready. Chromium itself lets popups and workers run as
 * soon as the first client says so, whatever the others have yet to set up.
 */
export class Starts {
  readonly #isOpen: (sessionId: string) => boolean;
  readonly #isLeading: (sessionId: string) => boolean;
  readonly #starts = new Map<string, Start>();
  readonly #targets = new Map<string, string>();
  /** Sessions whose word Chromium waits for itself. */
  readonly #own = new Set<string>();

  /** `isOpen`: whether a session has not ended. `isLeading`: whether it is of the client whose word counts for popups. */
  constructor(isOpen: (sessionId: string) => boolean, isLeading: (sessionId: string) => boolean) {
    this.#isOpen = isOpen;
    this.#isLeading = isLeading;
  }

  /** How many targets and sessions are remembered. */
  get size(): number {
    return this.#starts.size + this.#own.size;
  }

  /** A target has been stopped for this session. */
  stopped(targetId: string, sessionId: string, kind: StartKind): void {
    if (kind === "each") {
      this.#own.add(sessionId);
      return;
    }
    const known = this.#starts.get(targetId);
    const start = known ?? { kind, waiting: new Set(), ready: new Map() };
    start.waiting.add(sessionId);
    this.#starts.set(targetId, start);
    this.#targets.set(sessionId, targetId);
  }

  /** Takes a session's word, which is sent when it is its turn. One that lets nothing run is answered: it could let another target run. */
  take(sessionId: string, word: Word): void {
    if (this.#own.delete(sessionId)) {
      word.send();
      return;
    }
    const targetId = this.#targets.get(sessionId);
    const start = targetId === undefined ? undefined : this.#starts.get(targetId);
    if (!start || targetId === undefined || !start.waiting.delete(sessionId)) word.answer();
    else {
      start.ready.set(sessionId, word);
      this.#check(targetId, start);
    }
  }

  /** To be called when sessions have ended: nobody waits for those. */
  sweep(): void {
    for (const id of this.#own) if (!this.#isOpen(id)) this.#own.delete(id);
    for (const [targetId, start] of this.#starts) this.#check(targetId, start);
  }

  #check(targetId: string, start: Start): void {
    for (const id of [...start.waiting, ...start.ready.keys()])
      if (!this.#isOpen(id)) this.#forget(start, id);
    if (start.waiting.size > 0) return;
    this.#starts.delete(targetId);
    const [leading] = [...start.ready.keys()].filter((id) => this.#isLeading(id));
    for (const [id, word] of start.ready) {
      this.#targets.delete(id);
      // The first word lets the opener's script go on. A second word would let the next popup run before that popup is set up.
      if (start.kind === "popup" && leading !== undefined && id !== leading) word.answer();
      else word.send();
    }
  }

  #forget(start: Start, sessionId: string): void {
    start.waiting.delete(sessionId);
    start.ready.delete(sessionId);
    this.#targets.delete(sessionId);
  }
}
