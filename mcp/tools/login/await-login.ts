import { LIMITS } from "@svc/contract/limits.ts";
import type { Handoff } from "@svc/sdk/handoffs.ts";
import type { Browser } from "@svc/sdk/browsers.ts";
import { ApiError } from "@svc/sdk/errors.ts";
import { within } from "@svc/sdk/http/deadline.ts";
import * as z from "zod";
import { withTabs } from "../../page/connection.ts";
import { URL_LENGTH } from "../../page/page.ts";
import { type ToolContext, ToolError, defineTool } from "../../tool.ts";

const SECOND_MS = 1_000;
/** How long a browser may take to say where it is: what the person did is saved by then. */
const WHERE_MS = 5_000;

/** svc_browser_await_login */
export const awaitLogin = defineTool({
  name: "svc_browser_await_login",
  title: "Wait for the person",
  description:
    "Waits until the person of svc_browser_login is done. status pending or active is no error: call it again. Once completed, the login is saved, once, to the profile that the browser began with, if any.",
  input: z.strictObject({
    sessionId: z.string(),
    timeoutSeconds: z.number().min(1).max(300).default(50),
    saveProfile: z.boolean().default(true),
  }),
  output: z.looseObject({
    status: z.enum(["pending", "active", "completed", "cancelled", "expired"]),
    url: z.string().optional(),
    title: z.string().optional(),
    profileId: z.string().optional(),
    version: z.number().optional(),
  }),
  hints: { idempotent: true, openWorld: true },
  turn: "none",
  async run({ sessionId, timeoutSeconds, saveProfile }, context) {
    const { svc, signal } = context;
    const browser = await svc.browsers.connect(sessionId, { signal });
    const { handoff: last } = browser;
    if (!last || last.kind === "autologin")
      throw new ToolError(
        "NoHandoff",
        "Nobody was asked to log in in this session. Call svc_browser_login first.",
      );
    const handoff = await ended(browser, last, Date.now() + timeoutSeconds * SECOND_MS, context);
    const { status, finalUrl: url } = handoff;
    if (isOpen(handoff)) return { json: { status } };
    const saved = status === "completed" && saveProfile && (await save(browser, handoff, context));
    const where = { ...(url !== undefined && { url }), ...(await whereIs(sessionId, context)) };
    return { json: { status, ...where, ...saved } };
  },
});

/** The hand-off once it is over, or as it is when the time is. */
async function ended(
  { handoffs }: Browser,
  handoff: Pick<Handoff, "id">,
  until: number,
  { signal, progress }: ToolContext,
): Promise<Handoff> {
  for (;;) {
    const waitMs = Math.min(Math.max(until - Date.now(), 0), LIMITS.handoffWaitMs);
    const now = await handoffs.get(handoff.id, { waitMs, signal });
    if (!isOpen(now) || Date.now() >= until) return now;
    progress(now.status === "pending" ? "Nobody has come yet." : "A person has the browser.");
  }
}

const isOpen = ({ status }: Handoff): boolean => status === "pending" || status === "active";

/** Where the browser is now. Of one that cannot be asked nothing is told. */
async function whereIs(sessionId: string, context: ToolContext): Promise<object> {
  try {
    const tab = await within({ signal: context.signal, timeoutMs: WHERE_MS }, ({ signal }) =>
      withTabs({ ...context, signal }, sessionId, (tabs) => tabs.current()),
    );
    return tab ? { url: tab.url.slice(0, URL_LENGTH), title: tab.title } : {};
  } catch {
    context.signal.throwIfAborted();
    return {};
  }
}

/**
 * Saves to the profile that the browser began with, once for a hand-off, whoever waits for it. Of a browser without a profile
 * nothing is saved.
 */
async function save(browser: Browser, { id }: Handoff, { signal }: ToolContext): Promise<object> {
  try {
    const headers = { "idempotency-key": id };
    const { profileId, version } = await browser.saveProfile({}, { signal, headers });
    return { profileId, version };
  } catch (error) {
    if (isNoProfile(error)) return {};
    throw error;
  }
}

const isNoProfile = (error: unknown): boolean =>
  error instanceof ApiError && error.code === "ValidationError" && error.body.field === "profileId";
