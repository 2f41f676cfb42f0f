import type { Session } from "../sessions/session.ts";
import { Feed, type FeedOptions } from "./feed.ts";

/** The feeds of a pool: one of each session at most. */
export class Feeds {
  readonly #options: FeedOptions;

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  /** Opens a feed in place of the one that the session has. Rejects when it cannot be opened. */
  async open(session: Session, ticket: string): Promise<void> {
    session.watchedBy(await Feed.open(session, ticket, this.#options));
  }
}
