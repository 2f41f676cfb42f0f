import * as z from "zod";

/** 200 of GET /sessions/:id/replay-url (document 1, Replay URL response). */
export const ReplayUrl = z.object({
  url: z.string(),
  expiresInSeconds: z.int().positive(),
  /** Of the bytes as they are served. */
  contentEncoding: z.enum(["gzip", "identity"]),
});
export type ReplayUrl = z.infer<typeof ReplayUrl>;
