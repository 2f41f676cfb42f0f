import { LIMITS } from "@svc/contract/limits.ts";
import type { Handoff } from "@svc/sdk/handoffs.ts";
import type { Browser } from "@svc/sdk/browsers.ts";
import * as z from "zod";
import { type ToolContext, ToolError, defineTool } from "../../tool.ts";

const SECOND_MS = 1_000;

/** svc_browser_await_login */
export const awaitLogin = defineTool({
  name: "svc_browser_await_login",
  title: "Wait for the person",
  description:
    "Waits until the person of svc_browser_login is done. status pending or active is no error: call it again. Once completed, the login is saved to the profile that the browser began with, if there is one.",
  input: z.strictObject({
    sessionId: z.string(),
    timeoutSeconds: z.number().min(1).max(300).default(50),
    saveProfile: z.boolean().default(true),
  }),
  output: z.looseObject({
    status: z.enum(["pending", "active", "completed", "cancelled", "expired"]),
    url: z.string().optional(),
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
    const saved = status === "completed" && saveProfile && (await save(browser, context));
    return { json: { status, ...(url !== undefined && { url }), ...saved } };
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
    const isOpen = now.status === "pending" || now.status === "active";
    if (!isOpen || Date.now() >= until) return now;
    progress(now.status === "pending" ? "Nobody has come yet." : "A person has the browser.");
  }
}

/** Saves to the profile that the browser began with. Of a browser without a profile nothing is saved. */
async function save(browser: Browser, { signal }: ToolContext): Promise<object> {
  try {
    const { profileId, version } = await browser.saveProfile({}, { signal });
    return { profileId, version };
  } catch (error) {
    if (isNoProfile(error)) return {};
    throw error;
  }
}

const isNoProfile = (error: unknown): boolean =>
  error instanceof Error &&
  "code" in error &&
  error.code === "ValidationError" &&
  "body" in error &&
  (error.body as { field?: string }).field === "profileId";
