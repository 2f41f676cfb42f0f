import * as z from "zod";

/** The least length of SVC_HOST_TOKEN, SVC_SIGNING_SECRET and SVC_ADMIN_TOKEN: 32 random bytes as base64url. */
export const SECRET_CHARACTERS = 43;

/** The same as a sentence of the documents. */
export const SECRET_LENGTH = `At least ${SECRET_CHARACTERS} characters.`;

const COMMAND = `node -p "crypto.randomBytes(32).toString('base64url')"`;
/** The error text of a secret that is missing or too short, with the command that makes a good secret. */
export const SECRET_FAULT = `must have at least ${SECRET_CHARACTERS} characters (32 random bytes). Make one: ${COMMAND}`;

/** A secret that signs or opens something: an attacker who sees what it signed must not guess it. */
export const Secret = z.string(SECRET_FAULT).min(SECRET_CHARACTERS, SECRET_FAULT);
