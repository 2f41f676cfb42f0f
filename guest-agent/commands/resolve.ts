import { access, constants, stat } from "node:fs/promises";
import { isAbsolute, join, resolve } from "node:path";
import { EXIT_CODES } from "@svc/contract/control-channel/methods.ts";

/** Exit code of shells for what is there but cannot be run. */
const CANNOT_RUN = 126;

/** Why nothing was started: told as the end of a process, not as an error of the request. */
export interface Unstartable {
  exitCode: number;
  message: string;
}

/** Where the program is, or why it cannot be run. */
export async function resolveCommand(
  cmd: string,
  cwd: string,
  path: string,
): Promise<string | Unstartable> {
  if (!(await isDirectory(cwd)))
    return { exitCode: CANNOT_RUN, message: `the working directory ${cwd} does not exist` };
  const places = cmd.includes("/")
    ? [resolve(cwd, cmd)]
    : path.split(":").map((folder) => join(isAbsolute(folder) ? folder : cwd, cmd));
  let refusal: Unstartable | null = null;
  for (const place of places) {
    const found = await stat(place).catch(() => null);
    if (!found) continue;
    if (found.isFile() && (await isExecutable(place))) return place;
    const why = found.isDirectory() ? "is a directory" : "is not executable";
    refusal ??= { exitCode: CANNOT_RUN, message: `${place} ${why}` };
  }
  return refusal ?? { exitCode: EXIT_CODES.noCommand, message: notFound(cmd) };
}

// The usual cause is a whole command line in `cmd`: the hint says what to do about it.
function notFound(cmd: string): string {
  const hint = 'No shell is used: "cmd" is one program and "args" are its arguments.';
  const shell = 'For shell syntax run cmd "bash" with args ["-c", "…"].';
  return `${cmd}: command not found. ${hint} ${shell}`;
}

async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isDirectory() ?? false;
}

function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
