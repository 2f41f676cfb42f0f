import * as z from "zod";

const noNul = z.string().regex(/^[^\0]*$/, "has a NUL character");

/** POST /sandboxes/:id/exec. `args` counts only as an array; unknown fields have no effect (document 2, exec). */
export const Exec = z.object({
  cmd: noNul.min(1).max(4096),
  args: z.array(noNul).exactOptional(),
  cwd: noNul.min(1).max(4096).exactOptional(),
  timeoutMs: z.number().positive().exactOptional(),
});
export type Exec = z.infer<typeof Exec>;

/** 200 of exec: the call succeeded, whatever the command did. */
export const ExecResult = z.object({
  exitCode: z.int(),
  stdout: z.string(),
  stderr: z.string(),
  /** It was killed at `timeoutMs` with all it had started; the exit code is 124 (decision). */
  timedOut: z.literal(true).exactOptional(),
  /** The kernel killed it for memory; the exit code is 137 (decision). */
  oom: z.literal(true).exactOptional(),
  /** Output beyond 8 MiB of a stream was dropped (decision). */
  truncated: z.literal(true).exactOptional(),
});
export type ExecResult = z.infer<typeof ExecResult>;
