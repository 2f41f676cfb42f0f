import {
  AUTOLOGIN_SECONDS,
  type AutologinResult,
  RunAutologin,
} from "@svc/contract/browser/autologin.ts";
import type { LoginState } from "@svc/contract/browser/login.ts";
import { isApiError } from "@svc/contract/errors.ts";
import { newHandoffId } from "@svc/contract/ids.ts";
import { logOf } from "@svc/contract/log.ts";
import { LoginVault } from "../../../control-plane/login-vault.ts";
import {
  type LoginPlace,
  type OpenLogin,
  noteRun,
  openLogin,
} from "../../../control-plane/logins.ts";
import { parseBody } from "../../body.ts";
import type { AppContext, Handler } from "../../context.ts";
import { TIDY_MS, autologin } from "../../logins/autologin.ts";
import { handoffActive } from "../handoffs/active.ts";
import { openHandoff } from "../handoffs/open.ts";
import { type OwnedSession, ownedSession } from "../sessions/owned.ts";
import { saveLive } from "../sessions/save-profile.ts";
import { profileOf } from "./place.ts";

const log = logOf("src");
const SECOND_MS = 1_000;

export const runAutologin: Handler = async (c) => {
  const session = await ownedSession(c);
  const { site, force = false, timeoutSeconds } = await parseBody(c, RunAutologin);
  const place = { ...(await profileOf(c, session)), site };
  const login = await openLogin(c.env.DB, LoginVault.open(c.env.SVC_LOGIN_KEY), place);
  const timeoutMs = (timeoutSeconds ?? AUTOLOGIN_SECONDS.usual) * SECOND_MS;
  const running = run(c, session, { place, login, force, timeoutMs });
  // A client that goes away must not leave half a login in a page.
  c.executionCtx.waitUntil(running.catch(() => {}));
  return c.json((await running) satisfies AutologinResult);
};

interface Wanted {
  place: LoginPlace;
  login: OpenLogin;
  force: boolean;
  timeoutMs: number;
}

/** Runs a login in a hand-off of its own, and saves the profile when the login has succeeded. */
async function run(c: AppContext, session: OwnedSession, wanted: Wanted): Promise<AutologinResult> {
  const { place, timeoutMs } = wanted;
  const handoffId = await begun(session, timeoutMs + TIDY_MS);
  let end: "completed" | "cancelled" = "cancelled";
  try {
    const result = await autologin(c.env, { id: c.req.param("id") ?? "", ...wanted });
    const state = result.status === "already_logged_in" ? "logged_in" : result.status;
    if (state === "logged_in") end = "completed";
    await noted(c, place, state);
    return result.status === "logged_in"
      ? { ...result, ...(await saved(c, session, place)) }
      : result;
  } catch (error) {
    if (isApiError(error)) await noted(c, place, "failed");
    throw error;
  } finally {
    await session.ask((object) => object.endHandoff(handoffId, { as: end }));
  }
}

/** Notes how a run has ended. A run that cannot be noted is answered all the same: made again, it may lock the account. */
async function noted(c: AppContext, place: LoginPlace, state: LoginState): Promise<void> {
  try {
    await noteRun(c.env.DB, place, state, Date.now());
  } catch (error) {
    log.warn("login_run_not_noted", { reason: error });
  }
}

async function begun(session: OwnedSession, lastsMs: number): Promise<string> {
  const id = newHandoffId();
  const wish = { kind: "autologin" } as const;
  const handoff = await openHandoff(session, id, lastsMs, wish);
  if (handoff.id !== id) throw handoffActive(handoff);
  return id;
}

/** The version of the profile that has the login; no version when the profile cannot be saved just now. */
async function saved(
  c: AppContext,
  session: OwnedSession,
  { profileId }: LoginPlace,
): Promise<{ version?: number }> {
  try {
    const { version } = await saveLive(c, session, { profileId });
    return { version };
  } catch (error) {
    if (!isApiError(error)) throw error;
    log.warn("login_not_saved", { reason: error });
    return {};
  }
}
