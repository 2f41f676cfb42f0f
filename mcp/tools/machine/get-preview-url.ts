import * as z from "zod";
import { withMachine } from "../../machine/connection.ts";
import { sessionId } from "../../machine/session-id.ts";
import { defineTool } from "../../tool.ts";

export const getPreviewUrl = defineTool({
  name: "svc_get_preview_url",
  title: "Preview URL",
  description:
    "A URL on the web for a TCP port of the machine, with a token that is valid for an hour. Until something listens on the port it answers 425.",
  input: z.strictObject({
    sessionId,
    port: z.int().min(1).max(65_535),
    public: z
      .boolean()
      .optional()
      .describe("true opens the port to everyone without a token, false closes it again"),
  }),
  output: z.looseObject({ url: z.string(), token: z.string() }),
  hints: { idempotent: true, openWorld: true },
  turn: "none",
  run: ({ sessionId: id, port, public: isPublic }, context) =>
    withMachine(context, id, async (machine) => {
      const preview = await machine.preview(port, { public: isPublic, signal: context.signal });
      return { json: { url: preview.url(), token: preview.token } };
    }),
});
