import {
  LoginState,
  LoginSteps,
  type PutLogin,
  type SavedLogin,
} from "@svc/contract/browser/login.ts";
import { ApiError } from "@svc/contract/errors.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import * as z from "zod";
import { ask } from "./database.ts";
import type { LoginVault } from "./login-vault.ts";
import { rowOf } from "./profiles.ts";

/** The place of a login: an org's profile, and a site. */
export interface LoginPlace {
  orgId: string;
  profileId: string;
  site: string;
}

/** A login as D1 has it. Times are ms. */
interface LoginRow {
  profile_id: string;
  site: string;
  login_url: string;
  allowed_hosts: string;
  username: string;
  secret: string;
  totp: string | null;
  check_url: string | null;
  check_selector: string | null;
  steps: string | null;
  last_state: string | null;
  checked_at: number | null;
  saved_at: number;
}

/** A login and its secrets, for the run of it alone. */
export interface OpenLogin extends SavedLogin {
  password: string;
  totp: string | null;
}

const Hosts = z.array(z.string());
const isoOf = (at: number): string => new Date(at).toISOString();
const belongs = ({ orgId: org, profileId: profile, site }: LoginPlace) => ({ org, profile, site });

const toLogin = (row: LoginRow): SavedLogin => ({
  profileId: row.profile_id,
  site: row.site,
  loginUrl: row.login_url,
  allowedHosts: Hosts.parse(JSON.parse(row.allowed_hosts)),
  username: row.username,
  hasTotp: row.totp !== null,
  ...(row.check_url !== null && { checkUrl: row.check_url }),
  ...(row.check_selector !== null && { checkSelector: row.check_selector }),
  ...(row.steps !== null && { steps: LoginSteps.parse(JSON.parse(row.steps)) }),
  savedAt: isoOf(row.saved_at),
  lastState: LoginState.nullable().parse(row.last_state),
  checkedAt: row.checked_at === null ? null : isoOf(row.checked_at),
});

/** The saved logins of a profile, by site. Throws ProfileNotFound. */
export async function listLogins(
  db: D1Database,
  orgId: string,
  profileId: string,
): Promise<SavedLogin[]> {
  await rowOf(db, orgId, profileId);
  const sql = "SELECT * FROM profile_logins WHERE profile_id = ? ORDER BY site";
  const { results } = await ask(db, () => db.prepare(sql).bind(profileId).all<LoginRow>());
  return results.map(toLogin);
}

/** A saved login, without its secrets. Throws ProfileNotFound, NoSavedLogin. */
export async function readLogin(db: D1Database, place: LoginPlace): Promise<SavedLogin> {
  return toLogin(await loginRow(db, place));
}

/** A saved login, for its run. Throws ProfileNotFound, NoSavedLogin, NotConfigured. */
export async function openLogin(
  db: D1Database,
  vault: LoginVault,
  place: LoginPlace,
): Promise<OpenLogin> {
  const row = await loginRow(db, place);
  const password = await vault.open(belongs(place), "secret", row.secret);
  const totp = row.totp === null ? null : await vault.open(belongs(place), "totp", row.totp);
  return { ...toLogin(row), password, totp };
}

async function loginRow(db: D1Database, { orgId, profileId, site }: LoginPlace): Promise<LoginRow> {
  await rowOf(db, orgId, profileId);
  const sql = "SELECT * FROM profile_logins WHERE profile_id = ? AND site = ?";
  const row = await ask(db, () => db.prepare(sql).bind(profileId, site).first<LoginRow>());
  if (!row) throw noSavedLogin(site);
  return row;
}

const noSavedLogin = (site: string): ApiError =>
  new ApiError(
    "NoSavedLogin",
    `The profile has no saved login of ${site}. Save one in the console.`,
  );

const PUT = `INSERT INTO profile_logins (profile_id, site, login_url, allowed_hosts, username, secret, totp,
    check_url, check_selector, steps, saved_at)
  SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11
  WHERE EXISTS (SELECT 1 FROM profiles WHERE id = ?1)
    AND (EXISTS (SELECT 1 FROM profile_logins WHERE profile_id = ?1 AND site = ?2)
      OR (SELECT count(*) FROM profile_logins WHERE profile_id = ?1) < ?12)
  ON CONFLICT (profile_id, site) DO UPDATE SET login_url = ?3, allowed_hosts = ?4, username = ?5, secret = ?6,
    totp = ?7, check_url = ?8, check_selector = ?9, steps = ?10, saved_at = ?11, last_state = NULL, checked_at = NULL`;

/** Saves a login in place of what was saved of that site. Throws ProfileNotFound, ValidationError. */
export async function putLogin(
  db: D1Database,
  vault: LoginVault,
  place: LoginPlace,
  wanted: PutLogin,
  now: number,
): Promise<SavedLogin> {
  const { profileId, site } = place;
  await rowOf(db, place.orgId, profileId);
  const { loginUrl, allowedHosts = [new URL(loginUrl).hostname], username, steps } = wanted;
  const secret = await vault.seal(belongs(place), "secret", wanted.password);
  const { totp = null, checkUrl = null, checkSelector = null } = wanted;
  const sealed = totp === null ? null : await vault.seal(belongs(place), "totp", totp);
  const hosts = JSON.stringify(allowedHosts);
  const fields = steps ? JSON.stringify(steps) : null;
  const values = [loginUrl, hosts, username, secret, sealed, checkUrl, checkSelector, fields, now];
  const { meta } = await ask(db, () =>
    db
      .prepare(PUT)
      .bind(profileId, site, ...values, LIMITS.profileLogins)
      .run(),
  );
  if (meta.changes === 0) {
    // The profile may have been deleted meanwhile, and its logins with it.
    await rowOf(db, place.orgId, profileId);
    const text = `site: a profile has at most ${LIMITS.profileLogins} saved logins; delete one first`;
    throw new ApiError("ValidationError", text, { field: "site" });
  }
  return readLogin(db, place);
}

/** Deletes a saved login. Throws ProfileNotFound, NoSavedLogin. */
export async function deleteLogin(db: D1Database, place: LoginPlace): Promise<void> {
  await rowOf(db, place.orgId, place.profileId);
  const sql = "DELETE FROM profile_logins WHERE profile_id = ? AND site = ?";
  const { meta } = await ask(db, () => db.prepare(sql).bind(place.profileId, place.site).run());
  if (meta.changes === 0) throw noSavedLogin(place.site);
}

/** Notes how a run has ended. */
export async function noteRun(
  db: D1Database,
  { profileId, site }: LoginPlace,
  state: LoginState,
  now: number,
): Promise<void> {
  const sql = `UPDATE profile_logins SET last_state = ?, checked_at = ? WHERE profile_id = ? AND site = ?`;
  await ask(db, () => db.prepare(sql).bind(state, now, profileId, site).run());
}
