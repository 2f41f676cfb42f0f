import * as z from "zod";

/**
 * What a replay hides beyond passwords, one-time codes and card fields, which it always hides: what is typed into any
 * field, or also all texts and pictures (decisions, Watching and recording).
 */
export const RecordingMask = z.enum(["inputs", "all"]);
export type RecordingMask = z.infer<typeof RecordingMask>;
