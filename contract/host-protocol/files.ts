import * as z from "zod";

/** Body of a host's refusal of a file: the guest's own words and its code. A 404 without it means that there is no such machine. */
export const FileRefused = z.object({ error: z.string(), code: z.string() });
export type FileRefused = z.infer<typeof FileRefused>;
