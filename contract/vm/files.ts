import * as z from "zod";

/** 200 of GET /sandboxes/:id/files/download-url and upload-url: the URL needs no other credential. */
export const SignedFileUrl = z.object({ url: z.url(), expiresAt: z.iso.datetime() });
export type SignedFileUrl = z.infer<typeof SignedFileUrl>;

/** 200 of an upload (document 2, Other records). */
export const FileUploaded = z.object({
  ok: z.literal(true),
  path: z.string(),
  bytes: z.int().nonnegative(),
});
export type FileUploaded = z.infer<typeof FileUploaded>;
