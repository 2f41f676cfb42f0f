import * as z from "zod";

const count = z.int().nonnegative();

/** POST /internal/sessions/:id/recording: `none` when a recording turned out empty. */
export const RecordingReport = z.object({
  state: z.enum(["pending", "ready", "none"]),
  sizeBytes: count.exactOptional(),
  events: count.exactOptional(),
});
export type RecordingReport = z.infer<typeof RecordingReport>;
