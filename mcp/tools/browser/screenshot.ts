import * as z from "zod";
import { withPage } from "../../page/connection.ts";
import { pictureOf } from "../../page/picture.ts";
import { defineTool } from "../../tool.ts";
import { selector, sessionId } from "./arguments.ts";

export const browserScreenshot = defineTool({
  name: "svc_browser_screenshot",
  title: "Screenshot page",
  description:
    "JPEG of the viewport in CSS pixels: its coordinates work with svc_browser_click. A longer edge than 1568 is scaled down; divide by scale then.",
  input: z.strictObject({
    sessionId,
    fullPage: z.boolean().default(false).describe("The whole page instead of the viewport"),
    selector: selector.describe("This element only: CSS selector or ref"),
    quality: z.number().int().min(10).max(95).default(70),
  }),
  hints: { readOnly: true, idempotent: true, openWorld: true },
  turn: "session",
  run: ({ sessionId: id, fullPage, selector: within, quality }, context) =>
    withPage(context, id, async (page) => {
      const element = within === undefined ? undefined : await page.element(within);
      const { data, ...size } = await pictureOf(page, { fullPage, element, quality });
      return {
        json: { ...(await page.where()), ...size, ...page.asked },
        blocks: [{ type: "image", data, mimeType: "image/jpeg" }],
      };
    }),
});
