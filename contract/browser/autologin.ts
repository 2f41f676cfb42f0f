import * as z from "zod";
import { LoginState } from "./login.ts";

/** Logins that the service makes by itself, from what is saved with the session's profile (docs/LOGINS.md). */

/** Seconds that a run may take: the bounds of a request, and the value without one. */
export const AUTOLOGIN_SECONDS = { least: 5, most: 180, usual: 60 } as const;

/** POST /sessions/:id/autologin. */
export const RunAutologin = z.object({
  site: z.string().min(1).max(253),
  /** Signs in although the check says that one is signed in. */
  force: z.boolean().exactOptional(),
  timeoutSeconds: z
    .number()
    .min(AUTOLOGIN_SECONDS.least)
    .max(AUTOLOGIN_SECONDS.most)
    .exactOptional(),
});
export type RunAutologin = z.infer<typeof RunAutologin>;

/**
 * Why a run did not sign in. A person can: `captcha`, `second_factor`, `no_form`, `form_in_frame`. Nobody, as it is:
 * `credentials` (the site asked for the password again), `unreachable`, `timeout`, `page_changed` (what was typed did not arrive).
 */
export const AutologinReason = z.enum([
  "captcha",
  "second_factor",
  "no_form",
  "form_in_frame",
  "credentials",
  "unreachable",
  "timeout",
  "page_changed",
]);
export type AutologinReason = z.infer<typeof AutologinReason>;

/** 200 of POST /sessions/:id/autologin. `version`: that of the profile, which is saved after a success. */
export const AutologinResult = z.object({
  status: z.enum(["already_logged_in", ...LoginState.options]),
  reason: AutologinReason.exactOptional(),
  url: z.string(),
  title: z.string(),
  version: z.int().positive().exactOptional(),
});
export type AutologinResult = z.infer<typeof AutologinResult>;

/**
 * 200 of GET /sessions/:id/autologin. `status`: `logged_out` without a cookie of the site; else how the last run ended,
 * `unknown` without one.
 */
export const AutologinSites = z.object({
  sites: z.array(
    z.object({
      site: z.string(),
      /** Shortened: `a***@example.com`. */
      username: z.string(),
      status: z.enum(["logged_out", "unknown", ...LoginState.options]),
      lastUsedAt: z.iso.datetime().exactOptional(),
    }),
  ),
});
export type AutologinSites = z.infer<typeof AutologinSites>;
