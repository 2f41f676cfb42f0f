import * as z from "zod";
import { LIMITS } from "../limits.ts";
import { StoredCookie } from "./stored-cookie.ts";
import { StoredOrigin } from "./stored-origin.ts";

/** A passkey, as Playwright writes it. */
const StoredCredential = z.looseObject({
  id: z.string(),
  rpId: z.string(),
  userHandle: z.string(),
  privateKey: z.string(),
  publicKey: z.string(),
  signCount: z.int().exactOptional(),
});

/**
 * The state of a profile, as Playwright's `storageState()` writes it: what POST /profiles/:id/save accepts and what a
 * browser is given. Unknown fields are accepted at every level.
 */
export const StoredState = z.looseObject({
  cookies: z.array(StoredCookie).default([]),
  origins: z.array(StoredOrigin).max(LIMITS.profileOrigins).default([]),
  credentials: z.array(StoredCredential).default([]),
});
export type StoredState = z.infer<typeof StoredState>;

/** What a stored state may hold, for the documents. */
export const STORED_STATE_TEXT = [
  "The state as Playwright's storageState() writes it, at most 1 MiB; kept as it is, with fields unknown here.",
  "`cookies`: name, value, domain, and path, expires (seconds, -1 for a session), httpOnly, secure,",
  "sameSite (Strict, Lax or None), partitionKey (a site).",
  `\`origins\`: at most ${LIMITS.profileOrigins}, each with origin (http or https), localStorage (name, value),`,
  "indexedDB and opfs.",
  "`credentials`: passkeys.",
  "What no browser takes, such as a __Host- cookie with a path, is refused with its field.",
].join(" ");
