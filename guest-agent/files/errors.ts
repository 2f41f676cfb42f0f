import { type RefusalCode, refuse } from "@svc/contract/control-channel/rpc-error.ts";

const CODES: Readonly<Record<string, RefusalCode>> = {
  ENOENT: "NotFound",
  EEXIST: "AlreadyExists",
  ENOTEMPTY: "AlreadyExists",
  EACCES: "PermissionDenied",
  EPERM: "PermissionDenied",
  EROFS: "PermissionDenied",
  EISDIR: "IsDirectory",
  ERR_FS_EISDIR: "IsDirectory",
  ENOTDIR: "NotDirectory",
  ENOSPC: "NoSpace",
  EDQUOT: "NoSpace",
  EFBIG: "TooLarge",
  ENAMETOOLONG: "InvalidPath",
  ELOOP: "InvalidPath",
  EINVAL: "InvalidPath",
  // A FIFO that nobody reads, a socket, a device without its driver; a file of the kernel that has nothing yet.
  ENXIO: "Unsupported",
  ENODEV: "Unsupported",
  EAGAIN: "Unsupported",
  ERR_FS_CP_FIFO_PIPE: "Unsupported",
  ERR_FS_CP_SOCKET: "Unsupported",
  ERR_FS_CP_UNKNOWN: "Unsupported",
};

const MEANING: Partial<Record<RefusalCode, string>> = {
  NotFound: "there is no such file or directory",
  AlreadyExists: "it exists already",
  PermissionDenied: "permission denied",
  IsDirectory: "it is a directory",
  NotDirectory: "a part of the path is no directory",
  NoSpace: "the disk is full",
  TooLarge: "the file would be too large",
  InvalidPath: "the path cannot be used",
  Unsupported: "it is not a plain file",
};

/** Runs a step on a path; an error of the file system becomes one of the channel. */
export async function onPath<Result>(path: string, step: () => Promise<Result>): Promise<Result> {
  try {
    return await step();
  } catch (error) {
    const name = error instanceof Error && "code" in error ? String(error.code) : "";
    const code = CODES[name];
    if (!code) throw error;
    throw refuse(code, `${path}: ${MEANING[code] ?? name}`);
  }
}
