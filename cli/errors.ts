import { ApiError, ConnectionError, SvcError, TimeoutError } from "@svc/sdk/errors.ts";
import { EXIT } from "./exit-codes.ts";

/** The command line, the settings or a file is wrong. */
export class UsageError extends Error {
  override name = "UsageError";
}

/** Something failed, in words of the program's own. */
export class Refusal extends Error {
  override name = "Refusal";
}

/** Ends the program with a code, and says nothing. */
export class Ended extends Error {
  override name = "Ended";
  readonly code: number;

  constructor(code: number) {
    super(`exit code ${code}`);
    this.code = code;
  }
}

/** One line that says what is wrong and what to do next, and the exit code. */
export function judge(error: unknown): { line: string; code: number } {
  if (error instanceof UsageError) return { line: error.message, code: EXIT.usage };
  if (error instanceof ApiError) return { line: refusalWords(error), code: EXIT.refused };
  if (error instanceof ConnectionError) {
    const isAway = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|fetch failed/.test(error.message);
    const next = isAway ? "Is the service up, and the URL right? `svc doctor` looks." : "";
    return { line: `${error.message} ${next}`, code: EXIT.unreachable };
  }
  if (error instanceof TimeoutError) return { line: error.message, code: EXIT.unreachable };
  if (error instanceof SvcError && /^\S+ is no URL/.test(error.message))
    return { line: error.message, code: EXIT.usage };
  return { line: error instanceof Error ? error.message : String(error), code: EXIT.refused };
}

function refusalWords(error: ApiError): string {
  const words = error.requestId ? `${error.message} (request ${error.requestId})` : error.message;
  // The service always says a reason.
  const isForeign = error.status === 404 && error.body.error === undefined;
  const next = isForeign ? "Something else listens at this URL." : NEXT[error.status];
  return [words, next].filter(Boolean).join(" ");
}

const NEXT: Readonly<Record<number, string>> = {
  401: "`svc status` says which key was sent and where it is from; `svc login` keeps another one.",
  429: "Release one of them: `svc browser close ID` or `svc sandbox rm ID`.",
};
