import * as z from "zod";
import { onDesktop, screenshot } from "../../machine/desktop-action.ts";
import { sessionId } from "../../machine/session-id.ts";
import { defineTool } from "../../tool.ts";

export const key = defineTool({
  name: "svc_key",
  title: "Press desktop key",
  description: "Press a key, or several at once: Return, Page_Down, ctrl+shift+t.",
  input: z.strictObject({
    sessionId,
    key: z.string().min(1).max(100).describe("X names, or the character"),
    repeat: z.int().min(1).max(50).default(1),
    screenshot,
  }),
  hints: { destructive: true },
  turn: "session",
  run: ({ key: chord, repeat, ...asked }, context) =>
    onDesktop(context, asked, ({ computer }) =>
      computer.key(chord, { repeat }, { signal: context.signal }),
    ),
});
