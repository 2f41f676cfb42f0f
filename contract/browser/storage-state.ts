import * as z from "zod";
import { LIMITS } from "../limits.ts";
import { StorageCookie } from "./storage-cookie.ts";
import { StorageOrigin } from "./storage-origin.ts";

/** A passkey, as Playwright writes it. */
const Passkey = z.looseObject({
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
export const StorageState = z.looseObject({
  cookies: z.array(StorageCookie).default([]),
  origins: z.array(StorageOrigin).max(LIMITS.profileOrigins).default([]),
  credentials: z.array(Passkey).default([]),
});
export type StorageState = z.infer<typeof StorageState>;

/** The limits of a storage state in words, for the documents. */
export const STORAGE_STATE_TEXT = [
  "The state as Playwright's storageState() writes it, at most 1 MiB; kept as it is, with fields unknown here.",
  "`cookies`: name, value, domain, and path, expires (seconds, -1 for a session), httpOnly, secure,",
  "sameSite (Strict, Lax or None), partitionKey (a site).",
  `\`origins\`: at most ${LIMITS.profileOrigins}, each with origin (http or https), localStorage (name, value),`,
  "indexedDB and opfs.",
  "`credentials`: passkeys.",
  "What no browser takes, such as a __Host- cookie with a path, is refused with its field.",
].join(" ");
