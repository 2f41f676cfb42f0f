import type { BrowserKind } from "@svc/contract/browser/session.ts";

/** The pool of a session has dialled in, or why not: the session has ended, its pool is away, or has not done it. */
export type FeedAnswer =
  | { kind: BrowserKind }
  | { refused: { why: "ended" | "away" | "failed"; text: string } };
