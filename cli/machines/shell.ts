import type { Terminal } from "@svc/sdk/channel/pty.ts";
import type { Cli } from "../cli.ts";
import { Ended, UsageError } from "../errors.ts";
import { write } from "../terminal/pipes.ts";

/** A terminal inside, in this terminal. Ends as its program does. */
export async function shell(cli: Cli, id: string, command: readonly string[]): Promise<never> {
  const { stdin, stdout } = process;
  if (!stdin.isTTY || !stdout.isTTY)
    throw new UsageError("shell needs a terminal: `svc sandbox exec ID -- sh` does without.");
  const [cmd, ...args] = command;
  const box = await (await cli.svc()).sandboxes.connect(id);
  const terminal = await box.pty.open({
    ...sizeOf(stdout),
    ...(cmd !== undefined && { cmd, args }),
    env: { TERM: process.env.TERM ?? "xterm-256color" },
  });
  stdin.setRawMode(true);
  // However this program ends, the terminal is to be usable afterwards.
  process.on("exit", () => stdin.setRawMode(false));
  const resize = (): void => {
    const { cols, rows } = sizeOf(stdout);
    void terminal.resize(cols, rows).catch(() => {});
  };
  stdout.on("resize", resize);
  for (const signal of ["SIGTERM", "SIGHUP"] as const)
    process.once(signal, () => void hangUp(terminal, signal === "SIGHUP" ? 129 : 143));
  void type(terminal);
  try {
    for await (const bytes of terminal) await write(stdout, bytes);
    throw new Ended(await terminal.wait());
  } finally {
    stdout.off("resize", resize);
    stdin.setRawMode(false);
  }
}

async function type(terminal: Terminal): Promise<void> {
  try {
    for await (const keys of process.stdin) await terminal.write(keys as Buffer);
    await terminal.close();
  } catch {
    // The terminal has ended: its output says how.
  }
}

/** Ends the terminal inside when the one here is gone: nobody else can. */
async function hangUp(terminal: Terminal, code: number): Promise<void> {
  await terminal.close().catch(() => {});
  process.exit(code);
}

const sizeOf = ({ columns, rows }: NodeJS.WriteStream): { cols: number; rows: number } => ({
  cols: Math.min(Math.max(columns, 1), 1_000),
  rows: Math.min(Math.max(rows, 1), 1_000),
});
