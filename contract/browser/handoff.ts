import * as z from "zod";
import { LIMITS } from "../limits.ts";
import { HANDOFF_SECONDS, Handoff } from "./take-over.ts";

/** Hand-offs with a purpose (docs/LOGINS.md): a person is asked to do something in a session, and says when it is done. */

/** POST /sessions/:id/handoffs. */
export const BeginHandoff = z.object({
  kind: z.literal("login").default("login"),
  /** Shown to the person as plain text. */
  instructions: z.string().max(LIMITS.instructionsCharacters).exactOptional(),
  /** `**` stands for anything, `*` for anything without a slash. The page's URL ends the hand-off by matching. */
  successUrl: z.string().min(1).max(LIMITS.urlGlobCharacters).exactOptional(),
  timeoutSeconds: z.int().min(HANDOFF_SECONDS.least).max(HANDOFF_SECONDS.most).exactOptional(),
});
export type BeginHandoff = z.infer<typeof BeginHandoff>;

/** 201 of POST /sessions/:id/handoffs. Whoever opens `liveUrl` acts in the session, one person at a time, as long as the hand-off lasts. */
export const HandoffBegun = z.object({ handoff: Handoff, liveUrl: z.string() });
export type HandoffBegun = z.infer<typeof HandoffBegun>;

/** The state of a hand-off, as its page learns it before it opens its socket. `gone`: the session has ended. */
export const HandoffStanding = z.object({
  status: z.enum([...Handoff.shape.status.options, "gone"]),
  /** A person is there now: another one is refused. */
  hasPerson: z.literal(true).exactOptional(),
});
export type HandoffStanding = z.infer<typeof HandoffStanding>;
