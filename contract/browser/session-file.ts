import * as z from "zod";
import { FILE_NAME_BYTES, UNFIT, bytesOf } from "./file-name.ts";

const UNFIT_TEXT = "no /, no control characters, none that turn the direction of a line";

/** The name of a session's file: the last part of a path, and the name that a page sees. */
export const SessionFileName = z
  .string()
  .min(1)
  .refine((name) => bytesOf(name) <= FILE_NAME_BYTES, {
    error: `at most ${FILE_NAME_BYTES} bytes`,
  })
  .refine((name) => !UNFIT.test(name), { error: UNFIT_TEXT })
  .refine((name) => name !== "." && name !== "..", { error: "not . or .." });

/** `tooLarge`, `overQuota`: a download that the customer's own client has, and that is not kept for the list. */
export const SessionFileState = z.enum(["inProgress", "complete", "tooLarge", "overQuota"]);
export type SessionFileState = z.infer<typeof SessionFileState>;

/** A download or upload of a session. */
export const SessionFile = z.object({
  name: z.string(),
  /** So far, while it is in progress. */
  bytes: z.int().nonnegative(),
  source: z.enum(["download", "upload"]),
  state: SessionFileState,
  createdAt: z.iso.datetime(),
  /** Where the browser of the session has the file: a file input takes this path. */
  path: z.string(),
  /** Fetches the bytes, without another credential. Only of a complete file. */
  url: z.url().exactOptional(),
  urlExpiresAt: z.iso.datetime().exactOptional(),
});
export type SessionFile = z.infer<typeof SessionFile>;

/** 200 of GET /sessions/:id/files: oldest first. */
export const SessionFiles = z.object({ files: z.array(SessionFile) });
export type SessionFiles = z.infer<typeof SessionFiles>;

/** 200 of PUT /sessions/:id/files/:name. */
export const SessionFileStored = z.object({
  ok: z.literal(true),
  name: z.string(),
  path: z.string(),
  bytes: z.int().nonnegative(),
});
export type SessionFileStored = z.infer<typeof SessionFileStored>;
