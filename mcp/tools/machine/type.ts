import { TYPED_CHARACTERS } from "@svc/contract/control-channel/computer-methods.ts";
import * as z from "zod";
import { onDesktop, screenshot } from "../../machine/desktop-action.ts";
import { sessionId } from "../../machine/session-id.ts";
import { defineTool, ToolError } from "../../tool.ts";

/** The longest text with the usual delay, on a busy screen. */
const PATIENCE_MS = 180_000;
/** Time of the screen, beside the delays that are asked for. */
const SCREEN_MS = 60_000;

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
  patienceMs: PATIENCE_MS,
  async run({ text, delayMs, ...asked }, context) {
    const typed = text.replaceAll(/\r\n?/g, "\n");
    if (typed.length * delayMs > PATIENCE_MS - SCREEN_MS)
      throw new ToolError(
        "TooLong",
        `${typed.length} characters with delayMs ${delayMs} take too long. Type it in parts, or with a shorter delay.`,
      );
    return onDesktop(context, asked, ({ computer }) =>
      computer.type(typed, { delayMs }, { signal: context.signal, timeoutMs: PATIENCE_MS }),
    );
  },
});
