import { openMap } from "../open-map.ts";
import * as z from "zod";
import { CODE_METHODS } from "./code-methods.ts";
import { COMPUTER_METHODS } from "./computer-methods.ts";
import { FILE_METHODS } from "./file-methods.ts";
import { GIT_METHODS } from "./git-methods.ts";
import { PROTOCOL } from "./protocol.ts";
import { PTY_METHODS } from "./pty-methods.ts";

const noNul = z.string().regex(/^[^\0]*$/, "has a NUL character");
const path = noNul.min(1).max(4096);
const envs = openMap(z.string().regex(/^[^=\0]+$/), noNul);
const timeoutMs = z.number().positive().exactOptional();
const ok = z.object({ ok: z.literal(true) });
const nothing = z.object({});
const ProcessId = z.string().regex(/^proc_[0-9a-z]+$/);

const command = {
  cmd: noNul.min(1).max(4096),
  args: z.array(noNul).exactOptional(),
  cwd: path.exactOptional(),
  env: envs.exactOptional(),
};

/** How a process ended. */
export const Exit = z.object({
  /** 128 + the signal's number when a signal ended it. */
  exitCode: z.int(),
  signal: z.string().exactOptional(),
  /** The command was killed at `timeoutMs`; the exit code is 124. */
  timedOut: z.literal(true).exactOptional(),
  /** The kernel killed the command for memory; the exit code is 137. */
  oom: z.literal(true).exactOptional(),
});
export type Exit = z.infer<typeof Exit>;

/** A process that the agent keeps, as `commands.list` tells of it. */
export const ProcessInfo = z.object({
  id: ProcessId,
  pid: z.int(),
  tag: z.string().exactOptional(),
  cmd: z.string(),
  args: z.array(z.string()),
  cwd: z.string(),
  startedAt: z.iso.datetime(),
  exitCode: z.int().exactOptional(),
});
export type ProcessInfo = z.infer<typeof ProcessInfo>;

/** Signals a client may send. */
export const SIGNALS = [
  "SIGTERM",
  "SIGKILL",
  "SIGINT",
  "SIGHUP",
  "SIGQUIT",
  "SIGUSR1",
  "SIGUSR2",
  "SIGSTOP",
  "SIGCONT",
] as const;

/** Methods of the customer's control channel (control-channel.md, Methods). */
export const METHODS = {
  "rpc.ping": { params: nothing, result: nothing },
  /** Runs to completion. With `stream` the output comes on channels 1 and 2 and stdin is channel 0. */
  "commands.run": {
    params: z.object({
      ...command,
      stdin: z.string().exactOptional(),
      stream: z.boolean().exactOptional(),
      timeoutMs,
    }),
    result: Exit.extend({
      stdout: z.string().exactOptional(),
      stderr: z.string().exactOptional(),
      truncated: z.literal(true).exactOptional(),
    }),
  },
  /** With `hold` no output is dropped before the first attach: the process waits for it, 30 s at most. */
  "commands.start": {
    params: z.object({
      ...command,
      tag: z.string().max(200).exactOptional(),
      hold: z.boolean().exactOptional(),
    }),
    result: z.object({ id: ProcessId, pid: z.int() }),
  },
  /** Output from byte `from` on (both channels counted together) until the process ends; channel 0 is stdin. */
  "commands.attach": {
    params: z.object({ id: ProcessId, from: z.int().nonnegative().default(0), timeoutMs }),
    result: Exit,
  },
  "commands.list": { params: nothing, result: z.object({ processes: z.array(ProcessInfo) }) },
  "commands.kill": {
    params: z.object({ id: ProcessId, signal: z.enum(SIGNALS).default("SIGTERM") }),
    result: ok,
  },
  ...FILE_METHODS,
  ...CODE_METHODS,
  ...GIT_METHODS,
  ...PTY_METHODS,
  ...COMPUTER_METHODS,
} as const;

/** `rpc.hello`: the first message of the guest on a connection. */
export const Hello = z.object({
  protocol: z.literal(PROTOCOL),
  kind: z.enum(["sandbox", "desktop"]),
  bootId: z.string(),
  window: z.int(),
  maxFrame: z.int(),
});
export type Hello = z.infer<typeof Hello>;

/** `rpc.gap`: output between two offsets is no longer kept. */
export const Gap = z.object({ stream: z.int(), from: z.int(), to: z.int() });
