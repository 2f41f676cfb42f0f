import * as z from "zod";
import { withPage } from "../../page/connection.ts";
import { focus, press } from "../../page/keyboard.ts";
import { chordOf } from "../../page/keys.ts";
import { clickAt, mustSee } from "../../page/pointer.ts";
import { targetOf } from "../../page/target.ts";
import { defineTool } from "../../tool.ts";
import { acted } from "./acted.ts";
import { screenshot, selector, sessionId, x, y } from "./arguments.ts";

export const browserKey = defineTool({
  name: "svc_browser_key",
  title: "Press key",
  description:
    "Press a key or chord such as Enter, Tab, Escape, PageDown (scrolls), ArrowDown or Control+A: where the focus is, or on an element by selector, or after a click at x and y.",
  input: z.strictObject({
    sessionId,
    key: z.string(),
    selector,
    x,
    y,
    repeat: z.number().int().min(1).max(50).default(1),
    screenshot,
  }),
  hints: { destructive: true, openWorld: true },
  turn: "session",
  run: ({ sessionId: id, key, repeat, screenshot: shows, ...where }, context) => {
    const target = targetOf(where, "any");
    const chord = chordOf(key);
    return withPage(context, id, (page) =>
      acted(page, shows, async () => {
        if (target && "selector" in target) await focus(await page.element(target.selector));
        if (target && "x" in target) await mustSee(page, target);
        return async () => {
          if (target && "x" in target) await clickAt(page, target);
          await press(page, chord, repeat);
        };
      }),
    );
  },
});
