import * as z from "zod";
import { explained } from "../../machine/connection.ts";
import { sessionId } from "../../machine/session-id.ts";
import { defineTool } from "../../tool.ts";

export const kill = defineTool({
  name: "svc_kill",
  title: "Destroy",
  description:
    "Destroy a sandbox or desktop and everything on it. Also one that is paused or busy.",
  input: z.strictObject({ sessionId }),
  hints: { destructive: true, idempotent: true },
  turn: "none",
  run: async ({ sessionId: id }, { svc, signal }) => {
    try {
      await svc.sandboxes.kill(id, { signal });
      return { json: { ok: true } };
    } catch (error) {
      throw explained(error);
    }
  },
});
