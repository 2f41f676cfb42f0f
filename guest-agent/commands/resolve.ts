import { access, stat } from "node:fs/promises";
import { constants } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { EXIT_CODES } from "@svc/contract/control-channel/protocol.ts";
import type { StartError } from "../launcher/launcher.ts";

/** Exit code of shells for what is there but cannot be run. */
const CANNOT_RUN = 126;
/** X_OK of access(2). */
const EXECUTE = 1;
/** So much of a name is repeated to who asked for it. */
const NAMED_CHARS = 200;

/** Of a command: what is looked at before it is started. */
export interface Wanted {
  cmd: string;
  args?: readonly string[];
  cwd?: string;
}

/** Why nothing was started: told as the end of a process, not as an error of the request. */
export interface Unstartable {
  exitCode: number;
  message: string;
}

/** Why the kernel starts no program that is there, in words. */
const WHY = new Map<number, string>([
  [constants.errno.ENOENT, "its interpreter is missing"],
  [constants.errno.EAGAIN, "the machine has as many processes as it may have (EAGAIN). End some"],
  [constants.errno.ENOMEM, "the machine has no memory left (ENOMEM). End some processes"],
  [constants.errno.E2BIG, "its arguments and its environment are too long (E2BIG). Use a file"],
  [constants.errno.EMFILE, "too many files are open (EMFILE). End some processes"],
  [constants.errno.ENFILE, "too many files are open (ENFILE). End some processes"],
  [constants.errno.ENOEXEC, "it is no program of this machine (ENOEXEC)"],
  [constants.errno.ETXTBSY, "it is being written (ETXTBSY)"],
]);

/** The longest path there is; what is longer is no program's. */
const PATH_CHARS = 4096;

/** What the kernel cannot even be asked for: it would end a text at its NUL, and take no name as its own folder. */
export function impossible({ cmd, args = [], cwd = "" }: Wanted): Unstartable | null {
  if (cmd === "" || cmd.length > PATH_CHARS || cmd.includes("\0"))
    return { exitCode: EXIT_CODES.noCommand, message: notFound(cmd.slice(0, NAMED_CHARS)) };
  if (cwd.length > PATH_CHARS || cwd.includes("\0"))
    return { exitCode: CANNOT_RUN, message: "the working directory cannot be used: no path" };
  if (args.some((arg) => arg.includes("\0")))
    return { exitCode: CANNOT_RUN, message: "no program can be given an argument with a NUL" };
  return null;
}

/** Why a start failed, as a shell would say it. */
export async function explain(
  { step, errno, message }: StartError,
  cmd: string,
  cwd: string,
  path: string,
): Promise<Unstartable> {
  if (step === "chdir")
    return { exitCode: CANNOT_RUN, message: `the working directory ${cwd} cannot be used` };
  const fault = await findFault(cmd, cwd, path);
  if (fault) return fault;
  const why = WHY.get(errno) ?? message;
  return { exitCode: CANNOT_RUN, message: `${cmd} could not be started: ${why}` };
}

/** What is wrong with the program itself; null when it is there and may be run. */
async function findFault(cmd: string, cwd: string, path: string): Promise<Unstartable | null> {
  const places = cmd.includes("/")
    ? [resolve(cwd, cmd)]
    : path.split(":").map((folder) => join(isAbsolute(folder) ? folder : cwd, cmd));
  let refusal: Unstartable | null = null;
  for (const place of places) {
    const found = await stat(place).catch(() => null);
    if (!found) continue;
    if (found.isFile() && (await isExecutable(place))) return null;
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

function isExecutable(path: string): Promise<boolean> {
  return access(path, EXECUTE).then(
    () => true,
    () => false,
  );
}
