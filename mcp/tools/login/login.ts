import { HANDOFF_SECONDS } from "@svc/contract/browser/take-over.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import * as z from "zod";
import { withTabs } from "../../page/connection.ts";
import { navigate } from "../../page/navigate.ts";
import { defineTool } from "../../tool.ts";

/** How long the page may take: as long as in svc_browser_navigate unless told otherwise. */
const OPENS_MS = 30_000;
const { least, most, usual } = HANDOFF_SECONDS;

/** svc_browser_login */
export const login = defineTool({
  name: "svc_browser_login",
  title: "Ask a person to log in",
  description:
    "Hands the browser to a person, so that they log in or do what only they can. Give them liveUrl at once, a page to see and use it. Then call svc_browser_await_login. Until they are done other tools on this session answer HandoffActive.",
  input: z.strictObject({
    sessionId: z.string(),
    url: z
      .url({ protocol: /^https?$/ })
      .optional()
      .describe("The page that the browser opens first."),
    instructions: z
      .string()
      .max(LIMITS.instructionsCharacters)
      .optional()
      .describe("Shown to the person: what to do, in plain text."),
    successUrl: z
      .string()
      .min(1)
      .max(LIMITS.urlGlobCharacters)
      .optional()
      .describe(
        "URL at which they are done, such as https://example.com/home*; * stands for anything but a slash, ** for anything.",
      ),
    timeoutSeconds: z.int().min(least).max(most).default(usual),
  }),
  output: z.looseObject({
    handoffId: z.string(),
    liveUrl: z.string(),
    status: z.string(),
    expiresAt: z.string(),
  }),
  hints: { openWorld: true },
  turn: "session",
  async run({ sessionId, url, ...wish }, context) {
    const { svc, signal } = context;
    const browser = await svc.browsers.connect(sessionId, { signal });
    if (url !== undefined) {
      const way = { url, waitUntil: "load", timeoutMs: OPENS_MS } as const;
      await withTabs(context, sessionId, (tabs) => navigate(tabs, way));
    }
    const { handoff, liveUrl } = await browser.handoffs.begin(wish, { signal });
    const { id: handoffId, status, expiresAt } = handoff;
    return { json: { handoffId, liveUrl, status, expiresAt } };
  },
});
