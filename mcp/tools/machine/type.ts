import { TYPED_CHARACTERS } from "@svc/contract/control-channel/computer-methods.ts";
import * as z from "zod";
import { onDesktop, screenshot } from "../../machine/desktop-action.ts";
import { sessionId } from "../../machine/session-id.ts";
import { defineTool } from "../../tool.ts";

/** A busy screen takes a key in so long, beside the time that is asked for. */
const KEY_MS = 20;
const LEAST_MS = 60_000;

export const type = defineTool({
  name: "svc_type",
  title: "Type on desktop",
  description: "Type a text, of any script, where the keyboard goes. A new line is Return.",
  input: z.strictObject({
    sessionId,
    text: z.string().max(TYPED_CHARACTERS),
    delayMs: z.int().min(0).max(500).default(8).describe("Between two characters"),
    screenshot,
  }),
  hints: { destructive: true },
  turn: "session",
  run: ({ text, delayMs, ...asked }, context) =>
    onDesktop(context, asked, ({ computer }) => {
      const typed = text.replaceAll(/\r\n?/g, "\n");
      const timeoutMs = LEAST_MS + typed.length * (delayMs + KEY_MS);
      return computer.type(typed, { delayMs }, { signal: context.signal, timeoutMs });
    }),
});
