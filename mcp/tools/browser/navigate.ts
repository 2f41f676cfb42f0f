import * as z from "zod";
import { navigate } from "../../page/navigate.ts";
import { withTabs } from "../../page/connection.ts";
import { defineTool } from "../../tool.ts";
import { sessionId, timeoutSeconds } from "./arguments.ts";

export const browserNavigate = defineTool({
  name: "svc_browser_navigate",
  title: "Go to URL",
  description:
    "Load a URL and wait for it. Answers the final URL, the title and the HTTP status: 404 and 500 are no errors of this tool.",
  input: z.strictObject({
    sessionId,
    url: z.string().describe("Begins with https:// or http://"),
    waitUntil: z.enum(["load", "domcontentloaded", "networkidle"]).default("load"),
    timeoutSeconds,
  }),
  output: z.looseObject({ url: z.string(), title: z.string(), status: z.number().nullable() }),
  hints: { openWorld: true },
  turn: "session",
  run: ({ sessionId: id, url, waitUntil, timeoutSeconds: seconds }, context) =>
    withTabs(context, id, async (tabs) => {
      const way = { url, waitUntil, timeoutMs: seconds * 1_000 };
      const page = await navigate(tabs, way);
      return { json: { ...(await page.document()), ...page.asked } };
    }),
});
