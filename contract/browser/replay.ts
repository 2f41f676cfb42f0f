import * as z from "zod";

/** 200 of GET /sessions/:id/replay-url (document 1, Replay URL response). */
export const ReplayUrl = z.object({
  url: z.string(),
  expiresInSeconds: z.int().positive(),
  /** Of the bytes as they are served. */
  contentEncoding: z.enum(["gzip", "identity"]),
  /** A page that plays the replay, for as long as `url` (addition: decisions, GET /replay/:token). */
  playerUrl: z.string(),
});
export type ReplayUrl = z.infer<typeof ReplayUrl>;
