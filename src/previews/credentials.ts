import { FORMER_PREVIEW_CREDENTIALS, PREVIEW_CREDENTIALS } from "@svc/contract/vm/preview.ts";

const { query: QUERY, header: HEADER, cookie: COOKIE } = PREVIEW_CREDENTIALS;
const FORMER = FORMER_PREVIEW_CREDENTIALS;

/** The token a request shows, and where it stands. */
export interface Shown {
  token: string;
  in: "query" | "header" | "cookie";
}

/** Over https the browser itself sees to it that the cookie is of this host alone. */
export const cookieName = (protocol: string): string =>
  protocol === "https:" ? `__Host-${COOKIE}` : COOKIE;

/** The token of a request: what stands in the URL counts before the header, and that before the cookie. */
export function shownToken(request: Request): Shown | null {
  const { url, headers } = request;
  const { searchParams, protocol } = new URL(url);
  const inQuery = searchParams.get(QUERY);
  if (inQuery !== null) return { token: inQuery, in: "query" };
  const inHeader = headers.get(HEADER);
  if (inHeader !== null) return { token: inHeader, in: "header" };
  const inCookie = cookieOf(headers, cookieName(protocol));
  if (inCookie === null || !mayUseCookie(request)) return null;
  return { token: inCookie, in: "cookie" };
}

/** Whether a browser asks for a page in a tab of its own. */
export function isTopNavigation({ headers, method }: Pick<Request, "headers" | "method">): boolean {
  const isNavigation = headers.get("sec-fetch-mode") === "navigate";
  return isNavigation && headers.get("sec-fetch-dest") === "document" && isReading(method);
}

const isReading = (method: string): boolean => method === "GET" || method === "HEAD";

/**
 * Whether the cookie counts: a browser sends it along with requests that pages of other origins make. It counts for a
 * page in a tab of its own, for what the preview itself asks, and where no browser asks.
 */
function mayUseCookie(request: Pick<Request, "url" | "headers" | "method">): boolean {
  const origin = request.headers.get("origin");
  const site = request.headers.get("sec-fetch-site");
  if (isTopNavigation(request) || (origin === null && site === null)) return true;
  if (origin !== null) return origin === new URL(request.url).origin;
  // `none`: the user asked, no page.
  return site === "same-origin" || site === "none";
}

/** What a request calls by its former name, as a sentence; null when it does not. */
export function formerName({ url, headers }: Request): string | null {
  const { searchParams, protocol } = new URL(url);
  if (searchParams.has(FORMER.query)) return `The query parameter is now called ${QUERY}.`;
  if (headers.has(FORMER.header)) return `The header is now called ${HEADER}.`;
  if (cookieOf(headers, FORMER.cookie) === null) return null;
  return `The cookie is now called ${cookieName(protocol)}.`;
}

/** The cookie that carries a token to the next requests to this host, and dies with it. */
export function tokenCookie(token: string, protocol: string, lifeMs: number): string {
  const life = `Max-Age=${Math.max(0, Math.floor(lifeMs / 1000))}`;
  // Partitioned: a preview also works in a frame of another site, for that site alone.
  const scope = protocol === "https:" ? "Secure; SameSite=None; Partitioned" : "SameSite=Lax";
  return `${cookieName(protocol)}=${token}; Path=/; ${life}; HttpOnly; ${scope}`;
}

/** A query, with its `?`, without our parameter: every other byte of it stays. */
export function withoutToken(search: string): string {
  const pairs = search.slice(1).split("&");
  // The `&` keeps a `?` that is part of the name.
  const kept = pairs.filter((pair) => !new URLSearchParams(`&${pair}`).has(QUERY));
  if (kept.length === pairs.length) return search;
  return kept.length > 0 ? `?${kept.join("&")}` : "";
}

/** A Referer without our parameter. */
export function refererWithoutToken(referer: string): string {
  const at = referer.indexOf("?");
  return at === -1 ? referer : referer.slice(0, at) + withoutToken(referer.slice(at));
}

// Where a request has several Cookie headers, the runtime puts a comma between them.
const OURS = new RegExp(`(^|[;,])\\s*(?:__Host-)?${COOKIE}=[^;,]*`, "g");

/** A Cookie header without our cookie, of either name; null when nothing is left. */
export function cookiesWithoutToken(cookies: string): string | null {
  const kept = cookies.replaceAll(OURS, "").replace(/^[;,\s]+/, "");
  return kept === "" ? null : kept;
}

function cookieOf(headers: Headers, name: string): string | null {
  const found = new RegExp(`(?:^|[;,])\\s*${name}=([^;,\\s]*)`).exec(headers.get("cookie") ?? "");
  return found?.[1] ?? null;
}
