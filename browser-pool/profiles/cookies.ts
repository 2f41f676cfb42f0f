import type { StorageCookie } from "@svc/contract/browser/storage-cookie.ts";
import type { JsonObject } from "../cdp/envelope.ts";
import type { CdpMux } from "../cdp/mux.ts";

/** Gives the default context cookies. Returns how many the browser did not take. */
export async function setCookies(mux: CdpMux, stored: StorageCookie[]): Promise<number> {
  if (stored.length === 0) return 0;
  const cookies = stored.map(cookieOf);
  const set = (list: JsonObject[]): Promise<unknown> =>
    mux.call("Storage.setCookies", { cookies: list });
  // Chromium takes all cookies of a call or none.
  const isDone = await set(cookies).then(
    () => true,
    () => false,
  );
  if (isDone) return 0;
  const each = await Promise.allSettled(cookies.map((cookie) => set([cookie])));
  return each.filter(({ status }) => status === "rejected").length;
}

function cookieOf(stored: StorageCookie): JsonObject {
  const { name, value, domain, path, expires, httpOnly, secure, sameSite } = stored;
  const cookie = { name, value, domain, path, expires, httpOnly, secure, sameSite };
  const { partitionKey: topLevelSite, _crHasCrossSiteAncestor: hasCrossSiteAncestor = true } =
    stored;
  if (topLevelSite === undefined) return cookie;
  return { ...cookie, partitionKey: { topLevelSite, hasCrossSiteAncestor } };
}
