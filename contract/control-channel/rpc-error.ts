import * as z from "zod";

/** Codes of errors: those of JSON-RPC, LSP's for cancelled, and -32000 and below of this channel (control-channel.md, Errors). */
export const RPC_CODES = {
  parse: -32_700,
  request: -32_600,
  method: -32_601,
  params: -32_602,
  internal: -32_603,
  cancelled: -32_800,
  timedOut: -32_801,
  refused: -32_000,
} as const;

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

/** `error` of a response. `data` is open. */
export const ErrorObject = z.looseObject({
  code: z.int(),
  message: z.string(),
  data: z
    .looseObject({
      code: z.string().exactOptional(),
      retryable: z.boolean().exactOptional(),
      field: z.string().exactOptional(),
    })
    .exactOptional(),
});
export type ErrorObject = z.infer<typeof ErrorObject>;

/** A failed request, on either side of the channel. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  readonly data: ErrorObject["data"];
  constructor(code: number, message: string, data?: ErrorObject["data"]) {
    super(message);
    this.code = code;
    this.data = data;
  }

  toObject(): ErrorObject {
    return { code: this.code, message: this.message, ...(this.data && { data: this.data }) };
  }
}

/** The other side broke the contract: its connection is to be ended. */
export class ContractBreach extends Error {
  override readonly name = "ContractBreach";
}

/** A refusal: an error -32000 with a code of `REFUSALS`. */
export function refuse(code: RefusalCode, message: string): RpcError {
  return new RpcError(RPC_CODES.refused, message, { code, retryable: REFUSALS[code] });
}

/** Whether an error is the refusal with that code. */
export function isRefused(error: unknown, code: RefusalCode): error is RpcError {
  return error instanceof RpcError && error.data?.code === code;
}
