import * as z from "zod";
import { coordinate, onDesktop, screenshot } from "../../machine/desktop-action.ts";
import { sessionId } from "../../machine/session-id.ts";
import { defineTool, ToolError } from "../../tool.ts";

/** Clicks that the channel takes at once. */
const AT_ONCE = 3;

export const click = defineTool({
  name: "svc_click",
  title: "Click desktop",
  description:
    "Click at x and y, or where the pointer is. scroll_up and scroll_down turn the wheel by clickCount steps.",
  input: z.strictObject({
    sessionId,
    x: coordinate.optional(),
    y: coordinate.optional(),
    button: z.enum(["left", "middle", "right", "scroll_up", "scroll_down"]).default("left"),
    clickCount: z.int().min(1).max(20).default(1),
    screenshot,
  }),
  hints: { destructive: true },
  turn: "session",
  async run({ x, y, button, clickCount, ...asked }, context) {
    if ((x === undefined) !== (y === undefined))
      throw new ToolError(
        "ValidationError",
        "x and y go together. Without both the pointer stays where it is.",
      );
    const at = x === undefined || y === undefined ? {} : { x, y };
    const { signal } = context;
    return onDesktop(context, asked, async ({ computer }) => {
      if (button === "scroll_up" || button === "scroll_down") {
        const dy = button === "scroll_up" ? -clickCount : clickCount;
        return computer.scroll({ ...at, dx: 0, dy }, { signal });
      }
      for (let left = clickCount; left > 0; left -= AT_ONCE)
        await computer.click({ ...at, button, count: Math.min(left, AT_ONCE) }, { signal });
      return { ok: true };
    });
  },
});
