/** A response to a navigation, as the browser tells of it. */
export interface Answer {
  status: number;
  /** By name in lower case. */
  headers: ReadonlyMap<string, string>;
}

const STATUSES: ReadonlySet<number> = new Set([403, 429, 503]);
/** Pages that only say that somebody is blocked are shorter, by their encoding. Packed bytes may become a thousand times as many. */
const LONGEST_BYTES: Record<string, number> = {
  identity: 64 * 1024,
  gzip: 4 * 1024,
  deflate: 4 * 1024,
};

/** Headers by which protections say that a page is theirs, whatever its status. */
const HEADERS: [name: string, value: RegExp, whose: string][] = [
  ["cf-mitigated", /challenge/i, "Cloudflare"],
  ["x-amzn-waf-action", /challenge|captcha/i, "AWS WAF"],
];

/** Marks of block pages that no protected page has when it is served. */
const PAGES: [mark: RegExp, whose: string][] = [
  [/<title>Just a moment\.\.\.<\/title>/, "Cloudflare"],
  [/<iframe[^>]+_Incapsula_Resource/, "Imperva"],
  [/<title>Pardon Our Interruption<\/title>/i, "Imperva"],
  [/<title>Access Denied<\/title>[\s\S]*errors\.edgesuite\.net/, "Akamai"],
  [/<(?:script|iframe)[^>]+captcha-delivery\.com/, "DataDome"],
  [/id="px-captcha"/, "HUMAN"],
];

/** Why an answer is a block, by its head; null when the head does not say so. */
export function blockIn({ status, headers }: Answer): string | null {
  const found = HEADERS.find(([name, value]) => value.test(headers.get(name) ?? ""));
  if (found) return `a challenge of ${found[2]}`;
  return STATUSES.has(status) ? `status ${status}` : null;
}

/** Whether an answer may be a page of a protection: only then is its body read. It is short, however it is written. */
export function mayBlock({ status, headers }: Answer): boolean {
  const isPage = /^text\/html/i.test(headers.get("content-type") ?? "");
  // With it, the length that is told counts for nothing.
  if (status < 200 || status >= 300 || !isPage || headers.has("transfer-encoding")) return false;
  const length = headers.get("content-length");
  const longest = LONGEST_BYTES[headers.get("content-encoding") ?? "identity"] ?? -1;
  return length !== undefined && Number(length) <= longest;
}

/** Why a page is a block; null when it is none that is known. */
export function blockOfPage(html: string): string | null {
  const found = PAGES.find(([mark]) => mark.test(html));
  return found ? `a page of ${found[1]}` : null;
}
