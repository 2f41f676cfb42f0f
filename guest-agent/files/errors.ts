import { type RefusalCode, refuse } from "@svc/contract/control-channel/refusals.ts";

/** Errors of the file system as the channel tells them: a code, and what is wrong or what to do. */
const FAULTS: Readonly<Record<string, readonly [RefusalCode, string]>> = {
  ENOENT: ["NotFound", "there is no such file or directory"],
  ENOTDIR: ["NotDirectory", "it is no directory, or lies below what is none"],
  EISDIR: ["IsDirectory", "it is a directory"],
  ERR_FS_EISDIR: ["IsDirectory", "it is a directory"],
  EEXIST: ["AlreadyExists", "it exists already"],
  ENOTEMPTY: ["NotEmpty", "the directory is not empty"],
  EACCES: ["PermissionDenied", "permission denied"],
  EPERM: ["PermissionDenied", "permission denied: it may be immutable, or the kernel's"],
  EROFS: ["PermissionDenied", "the file system is read-only"],
  EBUSY: ["InUse", "it is in use: something is mounted there, or the system holds it"],
  ETXTBSY: ["InUse", "it is in use: a program runs from it"],
  ENOSPC: ["NoSpace", "the disk is full"],
  EDQUOT: ["NoSpace", "the quota of the disk is used up"],
  EFBIG: ["TooLarge", "the file would be larger than its file system allows"],
  EMLINK: ["TooLarge", "it has as many links as its file system allows"],
  ENAMETOOLONG: ["InvalidPath", "the path is too long, or a name in it is longer than 255 bytes"],
  ELOOP: ["InvalidPath", "its links lead in a circle"],
  EINVAL: ["InvalidPath", "the path cannot be used so"],
  EXDEV: ["Unsupported", "it would have to move to another file system"],
  // A FIFO that nobody reads, a socket, a device without its driver; a file of the kernel that has nothing yet.
  ENXIO: ["Unsupported", "it is not a plain file"],
  ENODEV: ["Unsupported", "it is not a plain file"],
  EAGAIN: ["Unsupported", "it has nothing to read, or takes nothing, at this time"],
  EMFILE: ["Busy", "too many files are open"],
  ENFILE: ["Busy", "too many files are open"],
  ENOMEM: ["Busy", "the machine's memory is used up"],
};

/** A path in an error text keeps this much of its beginning and of its end. */
const SHOWN_CHARACTERS = 120;

/** A path as an error text shows it: a long one must not push out the words after it. */
export function shown(path: string): string {
  if (path.length <= 2 * SHOWN_CHARACTERS) return path;
  return `${path.slice(0, SHOWN_CHARACTERS)}…${path.slice(-SHOWN_CHARACTERS)}`;
}

/** The errno of an error of the file system; empty of any other. */
export function errnoOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/** Runs a step on a path; an error of the file system becomes one of the channel. */
export async function onPath<Result>(path: string, step: () => Promise<Result>): Promise<Result> {
  try {
    return await step();
  } catch (error) {
    const name = errnoOf(error);
    const [code, words] = FAULTS[name] ?? unknownFault(error, name);
    if (code === null) throw error;
    throw refuse(code, `${shown(path)}: ${words}`);
  }
}

/** An errno that no line above names is final, too: what the file system cannot do now, it cannot do again. */
function unknownFault(error: unknown, name: string): readonly [RefusalCode | null, string] {
  const isOfSystem = error instanceof Error && "syscall" in error && /^E[A-Z0-9]+$/.test(name);
  return isOfSystem ? ["Unsupported", `the file system refuses: ${name}`] : [null, ""];
}
