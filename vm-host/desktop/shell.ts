import { refuse } from "@svc/contract/control-channel/refusals.ts";
import type { Exec, ExecResult } from "@svc/contract/vm/exec.ts";

/** Longest time of a program that asks the desktop something. One that owns a window or the clipboard may never answer it. */
export const ANSWER_MS = 15_000;

/** What runs programs in a desktop. */
export interface Shell {
  exec(command: Exec, signal?: AbortSignal): Promise<ExecResult>;
}

/** Runs a shell line to its end. Throws `Disconnected` where that takes too long, or where the desktop has not the programs. */
export async function ask(
  shell: Shell,
  line: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<ExecResult> {
  const script = `export LC_ALL=C.UTF-8\n${line}`;
  const command = { cmd: "sh", args: ["-c", script, "sh", ...args], timeoutMs: ANSWER_MS };
  const result = await shell.exec(command, signal);
  if (result.timedOut)
    throw refuse("Disconnected", `The desktop has not answered within ${ANSWER_MS / 1000} s.`);
  return result;
}

/** The lines of a text, up to a number of them; what is longer than so many characters lacks its middle. */
export function* linesOf(text: string, most: number, characters: number): Generator<string> {
  for (let from = 0, lines = 0; from < text.length && lines < most; lines += 1) {
    const end = text.indexOf("\n", from);
    const to = end < 0 ? text.length : end;
    const half = Math.floor(characters / 2);
    if (to - from <= characters) yield text.slice(from, to);
    else yield text.slice(from, from + half) + text.slice(to - half, to);
    from = to + 1;
  }
}

/** A text of the guest's, short and in one line. */
export function short(text: string, characters: number): string {
  const cut = text.slice(0, characters).replaceAll(/\p{Cc}/gu, " ");
  // Not through the middle of a character.
  return cut.isWellFormed() ? cut : cut.slice(0, -1).toWellFormed();
}
