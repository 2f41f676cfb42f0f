import { openMap } from "../open-map.ts";
import * as z from "zod";

const noNul = z.string().regex(/^[^\0]*$/, "has a NUL character");
const envs = openMap(z.string().regex(/^[^=\0]+$/), noNul);
const TerminalId = z.string().regex(/^pty_[0-9a-z]+$/);
const ok = z.object({ ok: z.literal(true) });

/** Size of a terminal in characters. */
const size = { cols: z.int().min(1).max(1_000), rows: z.int().min(1).max(1_000) };

/** A terminal, as `pty.list` tells of it. */
export const TerminalInfo = z.object({
  id: TerminalId,
  pid: z.int(),
  ...size,
  cmd: z.string(),
  args: z.array(z.string()),
  startedAt: z.iso.datetime(),
  exitCode: z.int().exactOptional(),
});
export type TerminalInfo = z.infer<typeof TerminalInfo>;

/** The namespace `pty` (control-channel.md, Methods). */
export const PTY_METHODS = {
  /** A terminal with a program in it: a login shell unless `cmd` says otherwise. */
  "pty.open": {
    params: z.object({
      ...size,
      cmd: noNul.min(1).max(4096).exactOptional(),
      args: z.array(noNul).exactOptional(),
      cwd: noNul.min(1).max(4096).exactOptional(),
      env: envs.exactOptional(),
    }),
    result: z.object({ id: TerminalId, pid: z.int() }),
  },
  /** Output from byte `from` on comes on channel 1 until the program ends; channel 0 is the input of the terminal. */
  "pty.attach": {
    params: z.object({ id: TerminalId, from: z.int().nonnegative().default(0) }),
    result: z.object({ exitCode: z.int() }),
  },
  "pty.resize": { params: z.object({ id: TerminalId, ...size }), result: ok },
  /** Hangs up and ends every program in the terminal. */
  "pty.close": { params: z.object({ id: TerminalId }), result: ok },
  "pty.list": { params: z.object({}), result: z.object({ ptys: z.array(TerminalInfo) }) },
} as const;
