import { LANGUAGES } from "@svc/contract/control-channel/code-methods.ts";
import * as z from "zod";
import { ClippedOutput } from "../../machine/clipped-text.ts";
import { codeAnswer } from "../../machine/code-answer.ts";
import { withMachine } from "../../machine/connection.ts";
import { sessionId } from "../../machine/session-id.ts";
import { defineTool } from "../../tool.ts";

/** Characters of stdout and stderr together. */
const OUTPUT_CHARACTERS = 20_000;

export const runCode = defineTool({
  name: "svc_run_code",
  title: "Run code",
  description:
    "Run code in an interpreter that keeps its variables from call to call. The value of the last expression comes back, figures of matplotlib as pictures and, in charts, as numbers. An exception is in error.",
  input: z.strictObject({
    sessionId,
    code: z.string(),
    language: z.enum(LANGUAGES).default("python"),
    timeoutSeconds: z
      .number()
      .min(1)
      .max(600)
      .default(60)
      .describe("Then it is interrupted: timedOut"),
  }),
  hints: { destructive: true, openWorld: true },
  turn: "session",
  run: ({ sessionId: id, code, language, timeoutSeconds }, context) =>
    withMachine(context, id, async (machine) => {
      const output = new ClippedOutput(OUTPUT_CHARACTERS);
      const answer = await machine.code.run(code, {
        language,
        timeoutMs: timeoutSeconds * 1000,
        signal: context.signal,
        onStdout: (text) => output.add(1, text),
        onStderr: (text) => output.add(2, text),
      });
      return codeAnswer(answer, output.texts());
    }),
});
