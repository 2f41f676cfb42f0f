import * as z from "zod";
import { withPage } from "../../page/connection.ts";
import { read } from "../../page/read.ts";
import { defineTool } from "../../tool.ts";
import { maxChars, selector, sessionId } from "./arguments.ts";

export const browserReadPage = defineTool({
  name: "svc_browser_read_page",
  title: "Read page",
  description:
    "Read the page as text, links, HTML, or snapshot: the accessibility tree with a ref for each element, also in frames and shadow roots. Refs work as selector of the other tools until the page goes elsewhere.",
  input: z.strictObject({
    sessionId,
    format: z.enum(["text", "links", "html", "snapshot"]).default("text"),
    selector: selector.describe("Read this element only: CSS selector or ref"),
    offset: z.number().int().min(0).default(0).describe("Go on at nextOffset of the last answer"),
    maxChars,
  }),
  hints: { readOnly: true, idempotent: true, openWorld: true },
  turn: "session",
  run: ({ sessionId: id, format, selector: within, offset, maxChars: most }, context) =>
    withPage(context, id, async (page) => {
      const { text, ...facts } = await read(page, { format, within, offset, most });
      const json = { ...(await page.where()), format, ...facts, ...page.asked };
      return { json, blocks: [{ type: "text", text }] };
    }),
});
