import type { Svc } from "@svc/sdk/svc.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { Cdp } from "@svc/sdk/cdp.ts";
import { ConnectionError, TimeoutError } from "@svc/sdk/errors.ts";
import { type ToolContext, ToolError } from "../tool.ts";
import { Page, SILENT } from "./page.ts";
import { Tabs } from "./tabs.ts";

/** The tab that a session is driven by: of several the one that was opened last. */
export async function withPage<Result>(
  context: ToolContext,
  sessionId: string,
  work: (page: Page) => Promise<Result>,
): Promise<Result> {
  return withTabs(context, sessionId, async (tabs) => {
    const page = await Page.attach(tabs, await tabs.current());
    await page.mustAnswer();
    return work(page);
  });
}

/** A connection to a session, for as long as the work takes. */
export async function withTabs<Result>(
  { svc, signal, WebSocket }: ToolContext,
  sessionId: string,
  work: (tabs: Tabs) => Promise<Result>,
): Promise<Result> {
  const cdpEndpoint = await endpointOf(svc, sessionId, signal);
  let cdp: Cdp | undefined;
  let tabs: Tabs | undefined;
  try {
    cdp = await Cdp.connect(cdpEndpoint, { signal, WebSocket });
    tabs = await Tabs.open(cdp, signal);
    return await work(tabs);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof TimeoutError && tabs) throw SILENT;
    if (!(error instanceof ConnectionError || error instanceof TimeoutError)) throw error;
    // The session's record knows best why a connection is lost.
    await endpointOf(svc, sessionId, signal);
    throw unreachable(`: ${error.message}`);
  } finally {
    cdp?.close();
  }
}

async function endpointOf(svc: Svc, sessionId: string, signal: AbortSignal): Promise<string> {
  const record = await svc.browsers.get(sessionId, { signal });
  const { status, cdpEndpoint, closeReason = status } = record;
  if (status === "active" && cdpEndpoint) return cdpEndpoint;
  // The URL of a browser opens it for a time (document 1, Limits); the browser itself may live longer.
  if (status === "active") throw tooOld();
  if (status === "unknown") throw unreachable();
  throw new ToolError("NotRunning", `This browser has ended (${closeReason}).`);
}

const tooOld = (): ToolError =>
  new ToolError(
    "BrowserTooOld",
    `Tools use a browser for ${LIMITS.socketUrlAgeMs / 60_000} minutes after its creation. Keep its logins with svc_browser_save_profile, close it with svc_browser_close and start another with svc_browser_create.`,
  );

const unreachable = (reason = ""): ToolError =>
  new ToolError(
    "PoolUnreachable",
    `The browser cannot be reached now${reason}. Call again in a few seconds; if that does not help, start another with svc_browser_create.`,
  );
