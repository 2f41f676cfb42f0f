import type { AutologinSites } from "@svc/contract/browser/autologin.ts";
import type { SavedLogin } from "@svc/contract/browser/login.ts";
import { ApiError, isApiError } from "@svc/contract/errors.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { logOf } from "@svc/contract/log.ts";
import * as z from "zod";
import { listLogins } from "../../../control-plane/logins.ts";
import { within } from "../../../durable-objects/live/deadline.ts";
import type { Handler } from "../../context.ts";
import { openOwnBrowser } from "../../logins/own-browser.ts";
import { ownedSession } from "../sessions/owned.ts";
import { profileOf } from "./place.ts";

const log = logOf("src");
const SECOND_MS = 1_000;

export const autologinSites: Handler = async (c) => {
  const session = await ownedSession(c);
  const { orgId, profileId } = await profileOf(c, session);
  const site = c.req.query("site");
  const all = await listLogins(c.env.DB, orgId, profileId);
  const logins = all.filter((login) => site === undefined || login.site === site);
  const domains = logins.length > 0 ? await domainsOf(c.env, c.req.param("id") ?? "") : [];
  return c.json({ sites: logins.map((login) => shown(login, domains)) } satisfies AutologinSites);
};

function shown(
  { site, username, lastState, checkedAt }: SavedLogin,
  domains: readonly string[],
): AutologinSites["sites"][number] {
  const hasCookie = domains.some((domain) => isOf(domain, site));
  return {
    site,
    username: shortened(username),
    status: hasCookie ? (lastState ?? "unknown") : "logged_out",
    ...(checkedAt !== null && { lastUsedAt: checkedAt }),
  };
}

/** Whether a cookie's domain is the site, a host of it, or a domain that the site belongs to. */
function isOf(domain: string, site: string): boolean {
  const name = domain.replace(/^\./, "");
  return name === site || name.endsWith(`.${site}`) || (domain !== name && site.endsWith(domain));
}

/** The name as `a***@example.com`: enough to know which account it is. */
function shortened(username: string): string {
  const at = username.lastIndexOf("@");
  return `${username.slice(0, 1)}***${at > 0 ? username.slice(at) : ""}`;
}

const Cookies = z.object({
  cookies: z.array(z.object({ domain: z.string(), expires: z.number(), session: z.boolean() })),
});

/** The domains of the browser's cookies that have not expired. */
async function domainsOf(env: Env, id: string): Promise<string[]> {
  try {
    return await within(LIMITS.hostCallMs, async (signal) => {
      const cdp = await openOwnBrowser(env, id, { signal });
      try {
        const { cookies } = Cookies.parse(await cdp.send("Storage.getCookies", {}, { signal }));
        const now = Date.now() / SECOND_MS;
        const fresh = cookies.filter(({ session, expires }) => session || expires > now);
        return fresh.map(({ domain }) => domain);
      } finally {
        cdp.close();
      }
    });
  } catch (error) {
    if (isApiError(error)) throw error;
    log.warn("cookies_not_read", { reason: error });
    const text = "The session's browser did not answer. Try again.";
    throw new ApiError("PoolUnreachable", text);
  }
}
