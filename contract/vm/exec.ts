import * as z from "zod";

/** POST /sandboxes/:id/exec. `args` counts only as an array; unknown fields have no effect (document 2, exec). */
export const Exec = z.object({
  cmd: z.string(),
  args: z.array(z.string()).exactOptional(),
  cwd: z.string().min(1).exactOptional(),
  timeoutMs: z.number().positive().exactOptional(),
});
export type Exec = z.infer<typeof Exec>;

/**
 * 200 of exec: the call succeeded, whatever the command did. stdout and stderr are two pipes, and nothing tells the order of
 * what was written to one and to the other: a shell's `2>&1` gives one stream in true order.
 */
export const ExecResult = z.object({
  exitCode: z.int(),
  stdout: z.string(),
  stderr: z.string(),
  /** The command was killed at `timeoutMs` with all its processes; the exit code is 124 (decision). */
  timedOut: z.literal(true).exactOptional(),
  /** The kernel killed the command for memory; the exit code is 137 (decision). */
  oom: z.literal(true).exactOptional(),
  /** Output beyond 8 MiB of a stream was dropped (decision). */
  truncated: z.literal(true).exactOptional(),
  /**
   * The streams that were not UTF-8 (decision): each such byte is a replacement character in the text. `base64` inside, or a
   * file, keeps the bytes.
   */
  notUtf8: z
    .array(z.enum(["stdout", "stderr"]))
    .min(1)
    .exactOptional(),
});
export type ExecResult = z.infer<typeof ExecResult>;
