import { TimeoutError } from "@svc/sdk/errors.ts";
import { ToolError } from "../tool.ts";
import type { Milestone } from "./loads.ts";
import { Page } from "./page.ts";
import type { Tabs } from "./tabs.ts";

const REACHABLE = /^(?:https?:\/\/|about:blank$|data:)/i;

/** Hints on failed loads, for the reasons that a model can do something about. */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [/NAME_NOT_RESOLVED/, "There is no host of that name: check the spelling."],
  [
    /CONNECTION_REFUSED|CONNECTION_RESET|CONNECTION_CLOSED|EMPTY_RESPONSE/,
    "Nothing answers there.",
  ],
  [/TIMED_OUT/, "The site does not answer."],
  [
    /BLOCKED_BY_CLIENT|BLOCKED_BY_ADMINISTRATOR|SOCKS|PROXY|TUNNEL/,
    "The service does not let browsers go there: private addresses, or a host that is not on the session's list.",
  ],
  [/CERT|SSL/, "The site's certificate is not valid."],
  [/HTTP_RESPONSE_CODE_FAILURE/, "The site answered an error without a page."],
  [/TOO_MANY_REDIRECTS/, "The site redirects without an end."],
];

interface Way {
  url: string;
  waitUntil: Milestone;
  timeoutMs: number;
}

/** Goes to a URL in the tab that was opened last. */
export async function navigate(tabs: Tabs, way: Way): Promise<Page> {
  const { url, waitUntil, timeoutMs } = way;
  if (!REACHABLE.test(url))
    throw new ToolError(
      "NavigationFailed",
      `${url.slice(0, 200)} is no URL that browsers may go to: it begins with https://, http:// or data:, or is about:blank.`,
    );
  const late = performance.now() + timeoutMs;
  const page = await livePage(tabs);
  await go(page, url, timeoutMs);
  const leftMs = Math.max(1, late - performance.now());
  const isThere = (): boolean => page.loads.has(waitUntil) || page.isGone;
  if (!(await page.loads.until(isThere, leftMs, tabs.signal))) throw timeout(way);
  if (page.isGone) await page.mustAnswer();
  return page;
}

/** The current tab. A tab whose process does not answer is replaced: its events would not tell of the new document. */
async function livePage(tabs: Tabs): Promise<Page> {
  const current = await tabs.current();
  const page = await Page.attach(tabs, current);
  if (await page.answers()) return page;
  const fresh = await Page.attach(tabs, await tabs.create(current));
  await tabs.close(page.tab);
  await fresh.answers();
  return fresh;
}

async function go(page: Page, url: string, timeoutMs: number): Promise<void> {
  let answer;
  try {
    answer = await page.attached.send("Page.navigate", { url }, timeoutMs);
  } catch (error) {
    if (error instanceof TimeoutError) throw timeout({ url, waitUntil: "load", timeoutMs });
    throw error;
  }
  const { errorText, isDownload, loaderId } = answer;
  // The events of a document may come after the answer that names it.
  if (typeof loaderId === "string") page.loads.expect(loaderId);
  if (isDownload === true)
    throw new ToolError(
      "NavigationFailed",
      "The URL is a download, not a page. The file is kept with the session's files (GET /sessions/:id/files); the page is as it was.",
    );
  if (typeof errorText === "string" && errorText !== "") throw failed(url, errorText);
}

function failed(url: string, reason: string): ToolError {
  if (/ERR_ABORTED/.test(reason))
    return new ToolError(
      "NavigationFailed",
      `${short(url)} gave no page: it is a download or empty (204), or another navigation began. svc_browser_screenshot shows where the browser is.`,
    );
  const hint = REASONS.find(([pattern]) => pattern.test(reason))?.[1] ?? "";
  return new ToolError("NavigationFailed", `${short(url)} did not load: ${reason}. ${hint}`.trim());
}

const short = (url: string): string => url.slice(0, 200);

const timeout = ({ url, waitUntil, timeoutMs }: Way): ToolError =>
  new ToolError(
    "Timeout",
    `${short(url)} did not reach ${waitUntil} in ${timeoutMs / 1000} s. What has loaded can be read (svc_browser_read_page); waitUntil=domcontentloaded waits for less, timeoutSeconds (up to 120) for longer.`,
  );
