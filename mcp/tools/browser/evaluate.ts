import * as z from "zod";
import { withPage } from "../../page/connection.ts";
import { evaluate } from "../../page/evaluate.ts";
import { defineTool } from "../../tool.ts";
import { maxChars, sessionId, timeoutSeconds } from "./arguments.ts";

export const browserEvaluate = defineTool({
  name: "svc_browser_evaluate",
  title: "Run JavaScript",
  description:
    "Evaluate a JavaScript expression in the page (await is allowed) and return its value as JSON; of what JSON does not know, a description.",
  input: z.strictObject({ sessionId, expression: z.string(), timeoutSeconds, maxChars }),
  hints: { destructive: true, openWorld: true },
  turn: "session",
  run: ({ sessionId: id, expression, timeoutSeconds: seconds, maxChars: most }, context) =>
    withPage(context, id, async (page) => {
      const bounds = { timeoutMs: seconds * 1_000, maxChars: most };
      const { type, text, truncated } = await evaluate(page, expression, bounds);
      return { json: { type, truncated, ...page.asked }, blocks: [{ type: "text", text }] };
    }),
});
