import * as z from "zod";
import { LIMITS } from "../limits.ts";

/** Saved logins of a profile (docs/LOGINS.md). Their secrets go in, and are answered by no route. */

/** A host's name, without a port. */
const HOST = /^(?=.{1,253}$)[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/;
/** A site's name in paths and calls: the host whose cookies say that one is signed in. */
export const isSite = (text: string): boolean => HOST.test(text);
const host = z.string().regex(HOST, "is no name of a host, in lower case and without a port");

const LOOPBACK = /^(?:(?:.+\.)?localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** Whether what is typed at a URL reaches its host alone: over https, or on this very machine. */
export function isSafe(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === "https:" || (protocol === "http:" && LOOPBACK.test(hostname));
}

const loginUrl = z
  .string()
  .max(LIMITS.urlGlobCharacters)
  .refine(isSafe, "is no https URL, nor one of this machine");
const selector = z.string().min(1).max(500);
/** Base32 as sites show it: with spaces, in any case. */
const totp = z
  .string()
  .max(200)
  .transform((text) => text.replaceAll(/[\s=-]/g, "").toUpperCase())
  .refine((text) => /^[A-Z2-7]{16,}$/.test(text), "is no secret in base32");

/** CSS selectors of a form that is not understood by itself: of the field of the name, and so on. */
export const LoginSteps = z.strictObject({
  username: selector.exactOptional(),
  password: selector.exactOptional(),
  code: selector.exactOptional(),
  submit: selector.exactOptional(),
});
export type LoginSteps = z.infer<typeof LoginSteps>;

/** The fields of a login that are shown: none is a secret. */
const shown = {
  loginUrl,
  /** Pages of these hosts alone are given the secrets; without a list that of `loginUrl`. */
  allowedHosts: z.array(host).min(1).max(LIMITS.loginHosts),
  username: z.string().min(1).max(256),
  /** A glob of the URL where one is signed in. */
  checkUrl: z.string().min(1).max(LIMITS.urlGlobCharacters).exactOptional(),
  /** A CSS selector of what only those who are signed in see. */
  checkSelector: selector.exactOptional(),
  steps: LoginSteps.exactOptional(),
};

/**
 * PUT /console/api/logins/:profileId/:site. It replaces all: a login whose hosts could be changed without its password would give that
 * password to any host.
 */
export const PutLogin = z
  .strictObject({
    ...shown,
    allowedHosts: shown.allowedHosts.exactOptional(),
    password: z.string().min(1).max(1_024),
    /** The secret of one-time codes: 6 digits, 30 s, SHA-1. */
    totp: totp.exactOptional(),
  })
  .superRefine(({ loginUrl: url, allowedHosts }, issues) => {
    const name = URL.canParse(url) ? new URL(url).hostname : "";
    if (allowedHosts && !allowedHosts.includes(name))
      issues.addIssue({
        code: "custom",
        path: ["allowedHosts"],
        message: "lacks the host of loginUrl",
      });
  });
export type PutLogin = z.infer<typeof PutLogin>;

/** How a run of a login ended (`needs_human`: a person has to), or what is known before one. */
export const LoginState = z.enum(["logged_in", "needs_human", "failed"]);
export type LoginState = z.infer<typeof LoginState>;

/** A saved login as the console sees it. */
export const SavedLogin = z.object({
  profileId: z.string(),
  site: z.string(),
  ...shown,
  hasTotp: z.boolean(),
  savedAt: z.iso.datetime(),
  /** The outcome of the last run. */
  lastState: LoginState.nullable(),
  checkedAt: z.iso.datetime().nullable(),
});
export type SavedLogin = z.infer<typeof SavedLogin>;

/** 200 of GET /console/api/logins. */
export const SavedLogins = z.object({ logins: z.array(SavedLogin) });
export type SavedLogins = z.infer<typeof SavedLogins>;

/** 200 of POST /console/api/token. */
export const ConsoleToken = z.object({
  token: z.string(),
  expiresInSeconds: z.int().positive(),
});
export type ConsoleToken = z.infer<typeof ConsoleToken>;
