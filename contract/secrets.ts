import * as z from "zod";

/** The least length of SVC_HOST_TOKEN, SVC_SIGNING_SECRET and SVC_ADMIN_TOKEN: 32 random bytes as base64url. */
export const SECRET_CHARACTERS = 43;

/** The same as a sentence of the documents. */
export const SECRET_LENGTH = `At least ${SECRET_CHARACTERS} characters.`;

const COMMAND = `node -p "crypto.randomBytes(32).toString('base64url')"`;
/** The error text of a secret that is missing or too short, with the command that makes a good secret. */
export const SECRET_FAULT = `must have at least ${SECRET_CHARACTERS} characters (32 random bytes). Make one: ${COMMAND}`;

const KEY = /^[A-Za-z0-9+/]{43}=$/;
const KEY_COMMAND = `node -p "crypto.randomBytes(32).toString('base64')"`;

/** SVC_LOGIN_KEY: one key of 32 bytes in base64, or several: the first writes, each reads what it wrote. */
export const LoginKeys = z
  .string()
  .refine(
    (text) => text.split(",").every((key) => KEY.test(key)),
    `must be 32 bytes in base64, or several such keys with commas. Make one: ${KEY_COMMAND}`,
  );

/** A secret that signs or opens something: an attacker who sees what it signed must not guess it. */
export const Secret = z.string(SECRET_FAULT).min(SECRET_CHARACTERS, SECRET_FAULT);
