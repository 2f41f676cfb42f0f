import * as z from "zod";
import { explained } from "../../machine/connection.ts";
import { resumeMachine } from "../../machine/resume.ts";
import { sessionId } from "../../machine/session-id.ts";
import { defineTool } from "../../tool.ts";

export const connect = defineTool({
  name: "svc_connect",
  title: "Re-attach",
  description:
    "Re-attach to a sandbox or desktop by its id. One that is paused is resumed, and is billed again; one that runs stays as it is.",
  input: z.strictObject({ sessionId }),
  output: z.looseObject({
    sessionId: z.string(),
    kind: z.string(),
    state: z.string(),
    resumed: z.boolean(),
    expiresAt: z.string(),
    streamUrl: z.string().optional(),
  }),
  hints: { idempotent: true },
  turn: "none",
  run: async ({ sessionId: id }, context) => {
    try {
      return { json: await resumeMachine(context, id) };
    } catch (error) {
      throw explained(error);
    }
  },
});
