import * as z from "zod";
import { withPage } from "../../page/connection.ts";
import { clickAt, mustSee, pointOf } from "../../page/pointer.ts";
import { targetOf } from "../../page/target.ts";
import { defineTool } from "../../tool.ts";
import { acted } from "./acted.ts";
import { screenshot, selector, sessionId, x, y } from "./arguments.ts";

export const browserClick = defineTool({
  name: "svc_browser_click",
  title: "Click",
  description:
    "Click an element by selector, or a point by x and y: exactly one of the two. Scrolls to the element, and refuses when something covers it. A page that it leads to is waited for; a tab that it opens (opened) is used from then on.",
  input: z.strictObject({
    sessionId,
    selector,
    x,
    y,
    button: z.enum(["left", "middle", "right"]).default("left"),
    clickCount: z.number().int().min(1).max(3).default(1).describe("2 for a double click"),
    screenshot,
  }),
  hints: { destructive: true, openWorld: true },
  turn: "session",
  run: ({ sessionId: id, button, clickCount, screenshot: shows, ...where }, context) => {
    const target = targetOf(where, "one");
    return withPage(context, id, (page) =>
      acted(page, shows, async () => {
        if ("x" in target) await mustSee(page, target);
        const point =
          "x" in target ? target : await pointOf(page, await page.element(target.selector));
        return () => clickAt(page, point, { button, clickCount });
      }),
    );
  },
});
