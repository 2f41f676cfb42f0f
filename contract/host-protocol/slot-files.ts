import * as z from "zod";
import { SessionFile, SessionFileState } from "../browser/session-file.ts";

/** A file of a session as its pool has it. */
export const SlotFile = z.object({
  name: z.string(),
  bytes: z.int().nonnegative(),
  source: SessionFile.shape.source,
  state: SessionFileState,
  /** Milliseconds since the epoch. */
  at: z.number(),
  path: z.string(),
});
export type SlotFile = z.infer<typeof SlotFile>;

/** 200 of GET /slots/:sessionId/files without a name: oldest first. */
export const SlotFiles = z.object({ files: z.array(SlotFile) });
export type SlotFiles = z.infer<typeof SlotFiles>;

/** Why a pool has no bytes of a file, or takes none. */
export const SlotFileRefusal = z.enum([
  "missing",
  "inProgress",
  "tooLarge",
  "overQuota",
  "busy",
  "ended",
]);
export type SlotFileRefusal = z.infer<typeof SlotFileRefusal>;

/** Has a `SlotFileRefusal`, for answers to HEAD too, which have no body. A 404 without it: the session is not there. */
export const SLOT_FILE_HEADER = "x-svc-file";
