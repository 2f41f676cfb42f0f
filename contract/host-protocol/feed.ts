import * as z from "zod";
import { FPS } from "../browser/observer.ts";
import { InputMessage } from "../browser/take-over.ts";
import { LIMITS } from "../limits.ts";

/**
 * POST /slots/:sessionId/feed -> 204 once the pool's socket of `/internal/sessions/:id/feed` is open. A feed that the
 * session had before ends. The pool shows the ticket when it dials in: a feed that nobody asked for is refused.
 */
export const OpenFeed = z.strictObject({ ticket: z.string().min(1).max(100) });
export type OpenFeed = z.infer<typeof OpenFeed>;

/** Header of the pool's upgrade. */
export const FEED_TICKET_HEADER = "x-svc-feed-ticket";

/** What the gateway tells a pool on a feed. The pool answers with frames (`browser/observer-frame.ts`), `PagesMessage` and `PageAsks`. */
export const FeedOrder = z.discriminatedUnion("type", [
  z.object({
    /** Replaces what was watched before. */
    type: z.literal("watch"),
    /** Whether the active page is shown, whichever that is. */
    active: z.boolean(),
    /** Pages that are shown besides. */
    pages: z.array(z.string()).max(LIMITS.observedPages),
    fps: z.int().min(FPS.least).max(FPS.most),
    quality: z.int().min(1).max(100),
    maxWidth: z.int().positive(),
    /** The page that a person has taken over: its dialogs wait for them. Null: nobody has. */
    held: z.string().nullable(),
  }),
  /** A person does something to the page that they hold. */
  z.object({ type: z.literal("input"), page: z.string(), input: InputMessage }),
  /** The tabs and the last frame of each watched page are wanted once more. */
  z.object({ type: z.literal("show") }),
  /** This frame, and all before it, were taken: at most two are on their way. */
  z.object({ type: z.literal("ack"), seq: z.int().nonnegative() }),
]);
export type FeedOrder = z.infer<typeof FeedOrder>;
export type Watch = Omit<Extract<FeedOrder, { type: "watch" }>, "type">;
