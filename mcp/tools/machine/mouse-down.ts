import { HELD_BUTTON_MS } from "@svc/contract/control-channel/computer-methods.ts";
import * as z from "zod";
import { button, onDesktop } from "../../machine/desktop-action.ts";
import { sessionId } from "../../machine/session-id.ts";
import { defineTool } from "../../tool.ts";

const HELD_SECONDS = HELD_BUTTON_MS / 1000;

export const mouseDown = defineTool({
  name: "svc_mouse_down",
  title: "Hold button",
  description: `Press a mouse button where the pointer is, and hold it until svc_mouse_up, at most ${HELD_SECONDS} seconds. svc_drag does a simple drag at once.`,
  input: z.strictObject({ sessionId, button }),
  hints: { destructive: true },
  turn: "session",
  run: ({ button: held, ...asked }, context) =>
    // The call's own socket ends with the call: the button is to outlive it.
    onDesktop(context, asked, async ({ computer }) => {
      await computer.down(held, { holdMs: HELD_BUTTON_MS }, { signal: context.signal });
      return { ok: true, heldSecondsMost: HELD_SECONDS };
    }),
});
