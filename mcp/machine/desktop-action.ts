import { SvcError } from "@svc/sdk/errors.ts";
import * as z from "zod";
import type { ToolContext, ToolResult } from "../tool.ts";
import { type Machine, withMachine } from "./connection.ts";
import { pictureAfter } from "./picture.ts";

/** A button of the mouse. */
export const button = z.enum(["left", "middle", "right"]).default("left");

/** A coordinate of the screen. */
export const coordinate = z.int().min(0);

/** The `screenshot` argument of tools that do something on a screen. */
export const screenshot = z
  .boolean()
  .default(false)
  .describe("Also return a picture once the screen rests");

/** Does something on the screen of a desktop, and takes a picture after it where one is wanted. */
export function onDesktop(
  context: ToolContext,
  asked: { sessionId: string; screenshot?: boolean },
  act: (machine: Machine) => Promise<object>,
): Promise<ToolResult> {
  return withMachine(context, asked.sessionId, async (machine) => {
    const done = { ...(await act(machine)) };
    if (!asked.screenshot) return { json: done };
    try {
      const { facts, block } = await pictureAfter(machine, context.signal);
      return { json: { ...done, ...facts }, blocks: [block] };
    } catch (error) {
      if (context.signal.aborted || !(error instanceof SvcError)) throw error;
      // The action is done: an error would have it done twice.
      const note = `It is done, but there is no picture: ${error.message} Use svc_screenshot.`;
      return { json: { ...done, note } };
    }
  });
}
