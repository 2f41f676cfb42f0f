import * as z from "zod";
import { withPage } from "../../page/connection.ts";
import { press, type } from "../../page/keyboard.ts";
import { named } from "../../page/keys.ts";
import { clickAt, mustSee } from "../../page/pointer.ts";
import { targetOf } from "../../page/target.ts";
import { defineTool } from "../../tool.ts";
import { acted } from "./acted.ts";
import { screenshot, selector, sessionId, x, y } from "./arguments.ts";

export const browserType = defineTool({
  name: "svc_browser_type",
  title: "Type text",
  description:
    "Type text into a field by selector, at a point by x and y, or where the focus is. Of a select, text is the option; of a date or colour field its value.",
  input: z.strictObject({
    sessionId,
    text: z.string().max(100_000),
    selector,
    x,
    y,
    clear: z.boolean().default(false).describe("Replace what is in the field"),
    submit: z.boolean().default(false).describe("Press Enter afterwards"),
    screenshot,
  }),
  hints: { destructive: true, openWorld: true },
  turn: "session",
  run: ({ sessionId: id, text, clear, submit, screenshot: shows, ...where }, context) => {
    const target = targetOf(where, "any");
    return withPage(context, id, (page) =>
      acted(page, shows, async () => {
        const element =
          target && "selector" in target ? await page.element(target.selector) : undefined;
        if (target && "x" in target) await mustSee(page, target);
        return async () => {
          if (target && "x" in target) await clickAt(page, target);
          await type(page, text, { element, clear });
          if (submit) await press(page, { key: named("Enter"), modifiers: [] });
        };
      }),
    );
  },
});
