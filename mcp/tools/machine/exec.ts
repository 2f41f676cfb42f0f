import * as z from "zod";
import { ClippedOutput } from "../../machine/clipped-text.ts";
import { withMachine } from "../../machine/connection.ts";
import { runCommand } from "../../machine/run-command.ts";
import { sessionId } from "../../machine/session-id.ts";
import { defineTool } from "../../tool.ts";

export const exec = defineTool({
  name: "svc_exec",
  title: "Run command",
  description:
    "Run a shell command (/bin/sh -lc) and wait for its end. A non-zero exit code is no error. Of long output the middle is left out: write it to a file and use svc_read_file. What is to go on runs with svc_run_command_bg.",
  input: z.strictObject({
    sessionId,
    command: z.string(),
    cwd: z.string().optional().describe("Absolute; the home folder unless said"),
    timeoutSeconds: z.number().min(1).max(600).default(60).describe("Then it is killed: timedOut"),
    maxChars: z.int().min(1000).max(100_000).default(20_000),
  }),
  hints: { destructive: true, openWorld: true },
  turn: "session",
  run: ({ sessionId: id, command, cwd, timeoutSeconds, maxChars }, context) =>
    withMachine(context, id, async (machine) => {
      const output = new ClippedOutput(maxChars);
      const { exitCode, timedOut, ...more } = await runCommand(machine, {
        argv: ["/bin/sh", "-lc", command],
        cwd,
        timeoutMs: timeoutSeconds * 1000,
        signal: context.signal,
        onBytes: output.push,
      });
      return { json: { exitCode, timedOut: timedOut === true, ...more, ...output.texts() } };
    }),
});
