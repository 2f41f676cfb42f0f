import { PTY_METHODS } from "@svc/contract/control-channel/pty-methods.ts";
import type { Method } from "@svc/contract/control-channel/rpc-server.ts";
import { follow, toStream } from "../commands/follow.ts";
import { method } from "@svc/contract/control-channel/method.ts";
import type { Terminals } from "./terminals.ts";

const DONE = { ok: true } as const;

/** The namespace `pty`. */
export function ptyMethods(terminals: Terminals): Record<string, Method> {
  return {
    "pty.open": method(PTY_METHODS["pty.open"], async ({ cols, rows, ...command }) => {
      const { info } = await terminals.open({ cols, rows }, command);
      return { id: info.id, pid: info.pid };
    }),
    "pty.attach": method(PTY_METHODS["pty.attach"], async ({ id, from }, context) => {
      const open = terminals.get(id);
      // A terminal has no end of input: whoever means it types Ctrl-D.
      context.stream.onBytes((_channel, bytes) =>
        bytes.length > 0 ? open.process?.write(bytes) : undefined,
      );
      await follow(open.log, { ...toStream(context), from });
      context.signal.throwIfAborted();
      const { exitCode } = await open.ended;
      return { exitCode };
    }),
    "pty.resize": method(PTY_METHODS["pty.resize"], async ({ id, ...size }) => {
      await terminals.resize(id, size);
      return DONE;
    }),
    "pty.close": method(PTY_METHODS["pty.close"], async ({ id }) => {
      await terminals.close(id);
      return DONE;
    }),
    "pty.list": method(PTY_METHODS["pty.list"], async () => ({ ptys: terminals.list() })),
  };
}
