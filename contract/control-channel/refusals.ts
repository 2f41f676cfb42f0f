import { RPC_CODES, RpcError } from "./rpc-error.ts";

/** Every `data.code` of a -32000, and whether trying again can help. */
export const REFUSALS = {
  NotFound: false,
  AlreadyExists: false,
  PermissionDenied: false,
  InvalidPath: false,
  IsDirectory: false,
  NotDirectory: false,
  /** A directory that is to go still has something in it. */
  NotEmpty: false,
  /** A mount point, or a program that runs. */
  InUse: false,
  NoSpace: false,
  TooLarge: false,
  NotRunning: false,
  Unsupported: false,
  DesktopOnly: false,
  OutOfBounds: false,
  UnknownKey: false,
  KernelDied: false,
  GitAuthFailed: false,
  GitConflict: false,
  GitFailed: false,
  /** Nothing listens on that port of the guest. */
  ConnectionRefused: true,
  /** Too many requests of one connection are in flight, or too many processes are kept. */
  Busy: true,
  Disconnected: true,
} as const satisfies Record<string, boolean>;
/** The `data.code` of a refusal. */
export type RefusalCode = keyof typeof REFUSALS;

/** A refusal: an error -32000 with a code of `REFUSALS`. */
export function refuse(code: RefusalCode, message: string): RpcError {
  return new RpcError(RPC_CODES.refused, message, { code, retryable: REFUSALS[code] });
}

/** Whether an error is the refusal with that code. */
export function isRefused(error: unknown, code: RefusalCode): error is RpcError {
  return error instanceof RpcError && error.data?.code === code;
}
