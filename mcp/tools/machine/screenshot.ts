import * as z from "zod";
import { withMachine } from "../../machine/connection.ts";
import { pictureOf } from "../../machine/picture.ts";
import { sessionId } from "../../machine/session-id.ts";
import { defineTool } from "../../tool.ts";

export const screenshot = defineTool({
  name: "svc_screenshot",
  title: "Screenshot desktop",
  description:
    "A picture of the screen of a desktop, pixel by pixel: its coordinates are those of svc_click. A picture that is too large for an answer comes in a lower quality.",
  input: z.strictObject({
    sessionId,
    format: z.enum(["jpeg", "png"]).default("jpeg"),
    quality: z.int().min(10).max(95).default(80).describe("Of a jpeg"),
  }),
  hints: { readOnly: true, idempotent: true },
  turn: "session",
  run: ({ sessionId: id, ...wish }, context) =>
    withMachine(context, id, async (machine) => {
      const { facts, block } = await pictureOf(machine, wish, context.signal);
      return { json: facts, blocks: [block] };
    }),
});
