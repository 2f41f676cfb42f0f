import * as z from "zod";
import { BACKGROUND_FOLDER, startInBackground } from "../../machine/background.ts";
import { withMachine } from "../../machine/connection.ts";
import { sessionId } from "../../machine/session-id.ts";
import { defineTool } from "../../tool.ts";

export const runCommandBg = defineTool({
  name: "svc_run_command_bg",
  title: "Run in background",
  description: `Start a shell command that goes on in the background. Output goes to ${BACKGROUND_FOLDER}/<pid>.out and .err, its exit code at the end to .exit: read them with svc_read_file. Answers after waitSeconds, when the command ends or waitForPort listens. End it with svc_exec: kill <pid>.`,
  input: z.strictObject({
    sessionId,
    command: z.string(),
    cwd: z.string().optional().describe("Absolute; the home folder unless said"),
    waitForPort: z
      .int()
      .min(1)
      .max(65_535)
      .optional()
      .describe("Answer once this TCP port listens"),
    waitSeconds: z.number().min(0).max(60).default(2),
  }),
  hints: { destructive: true, openWorld: true },
  turn: "session",
  run: ({ sessionId: id, waitSeconds, ...wanted }, context) =>
    withMachine(context, id, async (machine) => ({
      json: await startInBackground(
        machine,
        { ...wanted, waitMs: waitSeconds * 1000 },
        context.signal,
      ),
    })),
});
