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

/** `error` of a response. `data` is open. */
export interface ErrorObject {
  code: number;
  message: string;
  data?: { code?: string; retryable?: boolean; field?: string; [more: string]: unknown };
}

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
