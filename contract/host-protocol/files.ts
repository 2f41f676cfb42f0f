import * as z from "zod";

/**
 * Body of a host's answer for a guest that refused or is silent: words and code of the control channel. A 404 without it means
 * that there is no such machine.
 */
export const GuestRefused = z.object({ error: z.string(), code: z.string() });
export type GuestRefused = z.infer<typeof GuestRefused>;

/** Has the code of a `GuestRefused`, for answers to HEAD, which have no body. */
export const REFUSED_HEADER = "x-svc-refused";
