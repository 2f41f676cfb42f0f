import * as z from "zod";
import { button, onDesktop } from "../../machine/desktop-action.ts";
import { sessionId } from "../../machine/session-id.ts";
import { defineTool } from "../../tool.ts";

export const mouseUp = defineTool({
  name: "svc_mouse_up",
  title: "Release button",
  description: "Let go of a mouse button that svc_mouse_down holds.",
  input: z.strictObject({ sessionId, button }),
  hints: { destructive: true },
  turn: "session",
  run: ({ button: held, ...asked }, context) =>
    onDesktop(context, asked, ({ computer }) => computer.up(held, { signal: context.signal })),
});
