import type { AutologinReason, AutologinResult } from "@svc/contract/browser/autologin.ts";
import { matchesGlob } from "@svc/contract/browser/url-glob.ts";
import type { OpenLogin } from "../../control-plane/logins.ts";
import type { Field, Seen } from "./form-script.ts";
import type { LoginPage } from "./login-page.ts";
import { oneTimeCode } from "./totp.ts";

/** How a run ends; `logged_in` and `already_logged_in` have no reason. */
export type Outcome = Pick<AutologinResult, "status" | "reason">;

/** The record of what a run has done so far. */
interface Progress {
  /** The fields that were sent, each with the document in which that was. */
  sent: Partial<Record<Field, number>>;
  /** The time at which the run last typed. */
  actedAt: number;
  /** The time since which the sent password is not asked for; null while it is. */
  goneAt: number | null;
}

/** The next step of a run: wait, type and send fields, or end. */
type Next = { wait: true } | { type: Field[] } | { end: Outcome };

const WAIT: Next = { wait: true };
const LOOK_EVERY_MS = 250;
/** The wait after which a page changes no more by itself: a form that is still there was refused, a form that is not will not come. */
const SETTLED_MS = 8_000;
/** The wait after a form has gone: a form for a second factor may follow. */
const QUIET_MS = 1_500;

const needs = (reason: AutologinReason): Next => ({ end: { status: "needs_human", reason } });
const failed = (reason: AutologinReason): Next => ({ end: { status: "failed", reason } });

/** Signs in on a page that has been opened, and answers how that ended. Throws OriginMismatch, and when its time is over. */
export async function runLogin(
  page: LoginPage,
  login: OpenLogin,
  { force, pause }: { force: boolean; pause: (ms: number) => Promise<void> },
): Promise<Outcome> {
  const failure = await page.open(login.loginUrl);
  if (failure !== null) return { status: "failed", reason: "unreachable" };
  const progress: Progress = { sent: {}, actedAt: Date.now(), goneAt: null };
  for (;;) {
    const seen = await page.look();
    const isGone = seen && progress.sent.password !== undefined && !seen.fields.password;
    progress.goneAt = isGone ? (progress.goneAt ?? Date.now()) : null;
    const next = seen ? nextOf(seen, login, progress, { force, now: Date.now() }) : WAIT;
    if ("end" in next) {
      if (next.end.reason === "form_in_frame" && seen) page.checkFrames(seen);
      return next.end;
    }
    if ("type" in next && seen) {
      if (!(await typed(page, login, next.type)))
        return { status: "failed", reason: "page_changed" };
      for (const field of next.type) progress.sent[field] = seen.document;
      progress.actedAt = Date.now();
    }
    await pause(LOOK_EVERY_MS);
  }
}

/** The next step that a page in this state asks for. */
export function nextOf(
  seen: Seen,
  login: Pick<OpenLogin, "checkUrl" | "totp">,
  { sent, actedAt, goneAt }: Progress,
  { force, now }: { force: boolean; now: number },
): Next {
  const { fields } = seen;
  const hasSent = Object.keys(sent).length > 0;
  const isSettled = seen.isLoaded && now - actedAt >= SETTLED_MS;
  const isIn = checkOf(seen, login);
  if (isIn === true && (hasSent || !force))
    return { end: { status: hasSent ? "logged_in" : "already_logged_in" } };
  if (fields.code) return codeNext(seen, login, sent, isSettled);
  if (fields.password) {
    if (sent.password === undefined)
      return {
        type:
          fields.username && sent.username === undefined ? ["username", "password"] : ["password"],
      };
    // The site has answered with another document, or has had long enough: it wants the password again.
    const isRefused = (seen.isLoaded && sent.password !== seen.document) || isSettled;
    if (!isRefused) return WAIT;
    return seen.hasCaptcha ? needs("captcha") : failed("credentials");
  }
  if (fields.username && sent.username === undefined && sent.password === undefined)
    return { type: ["username"] };
  if (seen.hasCaptcha && seen.isLoaded) return needs("captcha");
  // Without a check the password's going is the only sign there is.
  const isQuiet = goneAt !== null && now - goneAt >= QUIET_MS;
  if (isQuiet && isIn === null && seen.isLoaded && !fields.username)
    return { end: { status: "logged_in" } };
  if (!isSettled) return WAIT;
  if (fields.username) return failed("credentials");
  if (sent.password !== undefined) return needs("second_factor");
  return needs(seen.frameHosts.length > 0 ? "form_in_frame" : "no_form");
}

function codeNext(
  seen: Seen,
  { totp }: Pick<OpenLogin, "totp">,
  sent: Progress["sent"],
  isSettled: boolean,
): Next {
  if (totp === null) return needs("second_factor");
  if (sent.code === undefined) return { type: ["code"] };
  const isRefused = (seen.isLoaded && sent.code !== seen.document) || isSettled;
  return isRefused ? failed("credentials") : WAIT;
}

/** Whether the browser is signed in; null: the login has no check. */
function checkOf(
  { url, isChecked }: Seen,
  { checkUrl }: Pick<OpenLogin, "checkUrl">,
): boolean | null {
  if (checkUrl === undefined) return isChecked;
  return matchesGlob(checkUrl, url) && isChecked !== false;
}

/** Fills fields one after the other, and sends the form of the last one. */
async function typed(page: LoginPage, login: OpenLogin, fields: Field[]): Promise<boolean> {
  for (const field of fields)
    if (!(await page.fill(field, await textOf(login, field)))) return false;
  const last = fields.at(-1);
  if (last) await page.submit(last);
  return true;
}

async function textOf({ username, password, totp }: OpenLogin, field: Field): Promise<string> {
  if (field === "username") return username;
  return field === "password" ? password : oneTimeCode(totp ?? "", Date.now());
}
