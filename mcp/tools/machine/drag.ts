import * as z from "zod";
import { button, coordinate, onDesktop, screenshot } from "../../machine/desktop-action.ts";
import { sessionId } from "../../machine/session-id.ts";
import { defineTool } from "../../tool.ts";

export const drag = defineTool({
  name: "svc_drag",
  title: "Drag",
  description: "Drag with a button held from one point of the screen to another.",
  input: z.strictObject({
    sessionId,
    fromX: coordinate,
    fromY: coordinate,
    toX: coordinate,
    toY: coordinate,
    button,
    durationMs: z.int().min(0).max(5000).default(300),
    screenshot,
  }),
  hints: { destructive: true },
  turn: "session",
  run: ({ sessionId: id, screenshot: isShown, ...way }, context) =>
    onDesktop(context, { sessionId: id, screenshot: isShown }, ({ computer }) =>
      computer.drag(way, { signal: context.signal }),
    ),
});
