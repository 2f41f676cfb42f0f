import type { AutologinResult } from "@svc/contract/browser/autologin.ts";
import { ApiError, isApiError } from "@svc/contract/errors.ts";
import { logOf } from "@svc/contract/log.ts";
import type { Cdp } from "@svc/sdk/cdp.ts";
import { Tabs } from "@svc/mcp/page/tabs.ts";
import { sleep } from "@svc/sdk/http/deadline.ts";
import * as z from "zod";
import type { OpenLogin } from "../../control-plane/logins.ts";
import { within } from "../../durable-objects/live/deadline.ts";
import { LoginPage } from "./login-page.ts";
import { openOwnBrowser } from "./own-browser.ts";
import { type Outcome, runLogin } from "./run.ts";
import { withoutSecret } from "./without-secret.ts";

const log = logOf("src");

/** How long a run may take to tidy up when its time is over: to say where the page is, to empty it, to leave it. */
export const TIDY_MS = 12_000;
const WHERE_MS = 2_000;

/** A session and how to sign in to it. */
export interface Run {
  id: string;
  login: OpenLogin;
  force: boolean;
  timeoutMs: number;
}

const Targets = z.object({
  targetInfos: z.array(
    z.object({ targetId: z.string(), type: z.string(), url: z.string(), title: z.string() }),
  ),
});
type Target = z.infer<typeof Targets>["targetInfos"][number];

/**
 * Signs in with a saved login, in the tab that was opened last. The run ends when its time is over, whatever the page does, and
 * leaves nothing that was typed in a page unless it has succeeded. Throws OriginMismatch, PoolUnreachable.
 */
export async function autologin(env: Env, run: Run): Promise<AutologinResult> {
  const { id, login, timeoutMs } = run;
  let cdp: Cdp | null = null;
  let page: LoginPage | null = null;
  let tab = "";
  const isIn = ({ status }: Outcome): boolean =>
    status === "logged_in" || status === "already_logged_in";
  try {
    const outcome = await within(timeoutMs, async (signal): Promise<Outcome> => {
      try {
        cdp = await openOwnBrowser(env, id, { signal, timeoutMs });
        tab = await currentTab(cdp, signal);
        const form = { ...login, steps: login.steps ?? {}, checkSelector: login.checkSelector };
        page = new LoginPage(await cdp.attach(tab, { signal }), form, signal);
        const pause = (ms: number): Promise<void> => sleep(ms, signal);
        return await runLogin(page, login, { force: run.force, pause });
      } catch (error) {
        if (signal.aborted) return { status: "failed", reason: "timeout" };
        throw error;
      }
    });
    const place = await whereIs(cdp, tab);
    if (isIn(outcome)) page = null;
    return { ...outcome, ...withoutSecret(place, login.password) };
  } catch (error) {
    if (isApiError(error)) throw error;
    log.warn("autologin_broken", { reason: error });
    const text = "The session's browser did not answer. Look at the session, then try again.";
    throw new ApiError("PoolUnreachable", text);
  } finally {
    await tidied(page, cdp, tab);
    closed(cdp);
  }
}

/** Empties the page of a run that has not succeeded. A tab that does not answer is closed, and another one opened. */
async function tidied(page: LoginPage | null, cdp: Cdp | null, tab: string): Promise<void> {
  if (!page || !cdp || (await page.clear())) return;
  const options = { timeoutMs: WHERE_MS };
  const call = (method: string, params: object) =>
    cdp.send(method, params, options).catch(() => {});
  await call("Target.createTarget", { url: "about:blank" });
  await call("Target.closeTarget", { targetId: tab });
}

const closed = (cdp: Cdp | null): void => cdp?.close();

async function targetsOf(cdp: Cdp): Promise<Target[]> {
  const { targetInfos } = Targets.parse(
    await cdp.send("Target.getTargets", {}, { timeoutMs: WHERE_MS }),
  );
  return targetInfos.filter(({ type }) => type === "page");
}

/** The tab that tools work in. */
async function currentTab(cdp: Cdp, signal: AbortSignal): Promise<string> {
  const tabs = await Tabs.open(cdp, signal);
  return ((await tabs.current()) ?? (await tabs.create())).targetId;
}

/** The URL and the title of the tab, which the browser knows however busy the page is. */
async function whereIs(cdp: Cdp | null, tab: string): Promise<{ url: string; title: string }> {
  const targets = cdp ? await targetsOf(cdp).catch(() => []) : [];
  const { url = "", title = "" } = targets.find(({ targetId }) => targetId === tab) ?? {};
  return { url, title };
}
