import * as z from "zod";
import { onDesktop, screenshot } from "../../machine/desktop-action.ts";
import { sessionId } from "../../machine/session-id.ts";
import { defineTool } from "../../tool.ts";

export const openApp = defineTool({
  name: "svc_open_app",
  title: "Open app",
  description:
    "Start a program on a desktop, or what opens a URL, a file or a folder. Its window may take seconds: screenshot shows it once the screen rests.",
  input: z.strictObject({
    sessionId,
    app: z
      .string()
      .min(1)
      .max(4096)
      .describe("browser, terminal, files, editor, a program, an absolute path or a URL"),
    args: z.array(z.string()).max(100).default([]),
    screenshot,
  }),
  hints: { openWorld: true },
  turn: "session",
  run: ({ app, args, ...asked }, context) =>
    onDesktop(context, asked, async ({ computer }) => {
      const { pid } = await computer.open(app, args, { signal: context.signal });
      return { ok: true, pid };
    }),
});
