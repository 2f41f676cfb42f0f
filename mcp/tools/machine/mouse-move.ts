import * as z from "zod";
import { coordinate, onDesktop, screenshot } from "../../machine/desktop-action.ts";
import { sessionId } from "../../machine/session-id.ts";
import { defineTool } from "../../tool.ts";

export const mouseMove = defineTool({
  name: "svc_mouse_move",
  title: "Move pointer",
  description: "Move the pointer of a desktop. With a button held it drags.",
  input: z.strictObject({ sessionId, x: coordinate, y: coordinate, screenshot }),
  hints: { idempotent: true },
  turn: "session",
  run: ({ x, y, ...asked }, context) =>
    onDesktop(context, asked, ({ computer }) => computer.move(x, y, { signal: context.signal })),
});
