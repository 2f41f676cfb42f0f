import type { RefusalCode } from "@svc/contract/control-channel/refusals.ts";
import type { ErrorBody, ErrorCode, ErrorContext } from "@svc/contract/errors.ts";

/** A value of a list that may grow: known members are completed by an editor, others are no error. */
export type OpenTo<Known extends string> = Known | (string & {});

/** Every error that the sdk makes itself. An aborted call rejects with its signal's reason instead. */
export class SvcError extends Error {
  override name = "SvcError";
}

/** The facts of an answer that is an error. */
export interface ApiErrorFacts {
  status: number;
  body: Partial<ErrorBody & ErrorContext>;
  requestId: string | null;
  retryAfterMs: number | null;
}

/** An error that a gateway answered (document 1, Errors). */
export class ApiError extends SvcError {
  override name = "ApiError";
  /** The HTTP status. */
  declare readonly status: number;
  /** The machine-readable reason. Absent for some answers: then the status tells. */
  declare readonly code: OpenTo<ErrorCode> | undefined;
  /** Diagnostic prose of something behind the gateway: not for branching. */
  declare readonly detail: string | undefined;
  /** Whether the service said that trying again can help. */
  declare readonly retryable: boolean;
  /** The whole error body; open. */
  declare readonly body: ApiErrorFacts["body"];
  /** `x-request-id` of the answer, for the service's log. */
  declare readonly requestId: string | null;
  /** `Retry-After` in milliseconds; null without one. */
  declare readonly retryAfterMs: number | null;

  constructor({ status, body, requestId, retryAfterMs }: ApiErrorFacts) {
    super(wordsOf(status, body));
    this.status = status;
    this.code = body.code;
    this.detail = body.detail;
    this.retryable = body.retryable === true;
    this.body = body;
    this.requestId = requestId;
    this.retryAfterMs = retryAfterMs;
  }
}

/** 400: the request is malformed or breaks a rule; `body.field` names the field. */
export class BadRequestError extends ApiError {
  override name = "BadRequestError";
}
/** 401: the API key is missing, wrong or revoked. */
export class AuthenticationError extends ApiError {
  override name = "AuthenticationError";
}
/** 402: the plan lacks a feature, or the credit is used up. */
export class PaymentRequiredError extends ApiError {
  override name = "PaymentRequiredError";
}
/** 403: the plan does not include this, or a signed URL is not valid. */
export class PermissionError extends ApiError {
  override name = "PermissionError";
}
/** 404: unknown, forged and another org's ids look the same. */
export class NotFoundError extends ApiError {
  override name = "NotFoundError";
}
/** 409: the state of the resource forbids it; `code` tells which state. */
export class ConflictError extends ApiError {
  override name = "ConflictError";
}
/** 413: the body is longer than `body.limit` bytes. */
export class TooLargeError extends ApiError {
  override name = "TooLargeError";
}
/** 428: the client's Playwright speaks a wire version that is not served; `body.supported` lists those that are. */
export class WireVersionError extends ApiError {
  override name = "WireVersionError";
}
/** 429: all places of the plan are taken. Never tried again: only releasing one of `holders` helps. */
export class ConcurrencyLimitError extends ApiError {
  override name = "ConcurrencyLimitError";
  /** The org's plan. */
  readonly plan: string | undefined = this.body.plan;
  /** How many may live at once. */
  readonly cap: number | undefined = this.body.cap;
  /** Ids of those that live, at most 20. */
  readonly holders: readonly string[] = this.body.holders ?? [];
}
/** 507: the size fits no host right now. */
export class CapacityError extends ApiError {
  override name = "CapacityError";
}
/** 502, 503, 504: something behind the gateway is away or has no room. */
export class UnavailableError extends ApiError {
  override name = "UnavailableError";
}

/** No whole answer came: the network failed, the connection was cut, or a socket was lost for good. */
export class ConnectionError extends SvcError {
  override name = "ConnectionError";
}

/** The call took longer than its `timeoutMs`. What it asked for may still happen. */
export class TimeoutError extends SvcError {
  override name = "TimeoutError";
}

/** A refusal of the machine over the control channel (docs/CONTROL-CHANNEL.md). */
export class ControlError extends SvcError {
  override name = "ControlError";
  /** Why, as `NotFound` or `PermissionDenied`; `InvalidParams`, `Cancelled`, `TimedOut`, `UnknownMethod`, `Internal` for errors of JSON-RPC. */
  declare readonly code: OpenTo<RefusalCode>;
  /** Whether trying again can help. */
  declare readonly retryable: boolean;
  /** The parameter that is wrong. */
  declare readonly field: string | undefined;
  /** `data` of the error; open. */
  declare readonly data: Readonly<Record<string, unknown>>;

  constructor(
    code: OpenTo<RefusalCode>,
    message: string,
    data: { retryable?: boolean; field?: string; [more: string]: unknown } = {},
  ) {
    super(message);
    this.code = code;
    this.retryable = data.retryable === true;
    this.field = data.field;
    this.data = data;
  }
}

/** A command that ended with another exit code than 0, when `check` was asked for. */
export class CommandError extends SvcError {
  override name = "CommandError";
  /** How the command ended, with its output. */
  declare readonly result: { exitCode: number; stdout: string; stderr: string };

  constructor(cmd: string, result: CommandError["result"]) {
    const tail = result.stderr.trim().slice(-500);
    super(`${cmd} ended with ${result.exitCode}${tail && `: ${tail}`}`);
    this.result = result;
  }
}

const BY_STATUS: Readonly<Record<number, typeof ApiError>> = {
  400: BadRequestError,
  401: AuthenticationError,
  402: PaymentRequiredError,
  403: PermissionError,
  404: NotFoundError,
  409: ConflictError,
  413: TooLargeError,
  428: WireVersionError,
  429: ConcurrencyLimitError,
  502: UnavailableError,
  503: UnavailableError,
  504: UnavailableError,
  507: CapacityError,
};

/** The error of an answer, by its status. */
export function apiError(facts: ApiErrorFacts): ApiError {
  return new (BY_STATUS[facts.status] ?? ApiError)(facts);
}

function wordsOf(
  status: number,
  { error, hint = "", plan, cap, holders = [] }: ApiErrorFacts["body"],
): string {
  const facts =
    status === 429 && plan && `(plan ${plan}, cap ${cap}, held by ${holders.join(", ")})`;
  return [error ?? `The gateway answered ${status}.`, hint, facts].filter(Boolean).join(" ");
}
