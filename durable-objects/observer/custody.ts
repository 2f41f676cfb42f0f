import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import type { TextMessage } from "@svc/contract/browser/observer.ts";
import { matchesGlob } from "@svc/contract/browser/url-glob.ts";
import { type Handoff, isTaken } from "../session/handoff.ts";

const HELD = "held";

/** The hand-off that has the session now. */
interface Held {
  /** The session's id. */
  id: string;
  handoff: string;
  until: number;
  /** The glob of URLs by which the hand-off ends. */
  successUrl?: string;
}

/** The hand-off that has the session, so that nobody else is shown anything: told by the session, kept while the viewers' object sleeps. */
export class Custody {
  readonly #storage: DurableObjectStorage;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  get held(): Held | undefined {
    return this.#storage.kv.get<Held>(HELD);
  }

  /** Notes how the session says that its hand-off stands. Answers whether somebody has the session. */
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

  /** Whether a URL may end the hand-off: the person may leave before the page has come there. */
  get awaitsUrl(): boolean {
    return this.held?.successUrl !== undefined;
  }

  /** The hand-off that this URL ends; null when it ends none. */
  endedBy(url: string | null): Held | null {
    const { held } = this;
    const isEnd = held?.successUrl !== undefined && url !== null;
    return isEnd && matchesGlob(held.successUrl ?? "", url) ? held : null;
  }
}

/** The message that tells the person what they are asked for. */
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
