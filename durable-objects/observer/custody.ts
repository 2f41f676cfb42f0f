import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import type { TextMessage } from "@svc/contract/browser/observer.ts";
import { matchesGlob } from "@svc/contract/browser/url-glob.ts";
import { type Handoff, isTaken } from "../session/handoff.ts";

const HELD = "held";

/** Who has the session, and until when. */
interface Held {
  /** The session's id. */
  id: string;
  handoff: string;
  until: number;
  /** The glob of URLs by which the hand-off ends. */
  successUrl?: string;
}

/** Who has the session, so that nobody else is shown anything: by its word, kept while its viewers' object sleeps. */
export class Custody {
  readonly #storage: DurableObjectStorage;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  get held(): Held | undefined {
    return this.#storage.kv.get<Held>(HELD);
  }

  /** Takes the session's word. Answers whether somebody has it. */
  is(id: string, handoff: Handoff): boolean {
    if (!isTaken(handoff)) return this.end();
    const { expiresAt: until, successUrl } = handoff;
    const glob = successUrl !== undefined && { successUrl };
    this.#storage.kv.put<Held>(HELD, { id, handoff: handoff.id, until, ...glob });
    return true;
  }

  end(): false {
    this.#storage.kv.delete(HELD);
    return false;
  }

  /** A person may go before the page has come where their hand-off ends. */
  get awaitsUrl(): boolean {
    return this.held?.successUrl !== undefined;
  }

  /** Who has the session, when this URL ends their hand-off. */
  endedBy(url: string | null): Held | null {
    const { held } = this;
    const isEnd = held?.successUrl !== undefined && url !== null;
    return isEnd && matchesGlob(held.successUrl ?? "", url) ? held : null;
  }
}

/** What the person is asked for. */
export function toldOf({ id, expiresAt, instructions, successUrl }: Handoff): Told {
  return {
    type: "handoff",
    id,
    expiresAt: new Date(expiresAt).toISOString(),
    ...(instructions !== undefined && { instructions }),
    ...(successUrl !== undefined && { successUrl }),
  };
}
type Told = Extract<TextMessage, { type: "handoff" }>;

/** The close code and the reason for somebody whose hand-off is over. */
export function farewellOf({ status }: Handoff): [code: number, reason: string] {
  const code = status === "expired" ? CLOSE_CODES.tokenExpired : CLOSE_CODES.normal;
  return [code, `The hand-off is ${status}.`];
}
