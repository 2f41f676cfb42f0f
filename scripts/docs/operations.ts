import { ERRORS, type ErrorCode } from "@svc/contract/errors.ts";
import { OPERATIONS } from "@svc/contract/operations/index.ts";
import type { Operation } from "@svc/contract/operations/operation.ts";

/** Every operation that a customer or an operator may call; hosts have their own document. */
export const PUBLIC: [string, Operation][] = Object.entries<Operation>(OPERATIONS).filter(
  ([, op]) => op.auth !== "host",
);

/** All codes an operation may answer: its own, and those of its credential and its body cap. */
function codesOf(op: Operation): ErrorCode[] {
  const checks: Record<Operation["auth"], ErrorCode[]> = {
    key: ["Unauthorized", "KeyCheckUnavailable"],
    console: ["Unauthorized", "KeyCheckUnavailable"],
    operator: ["Unauthorized", "NotConfigured"],
    host: ["Unauthorized"],
    objectUrl: ["ObjectNotFound"],
    fileUrl: ["InvalidFileToken"],
    none: [],
  };
  return [...checks[op.auth], "PayloadTooLarge", ...op.errors];
}

/** The codes by status, lowest first. */
export function statusesOf(op: Operation): [number, ErrorCode[]][] {
  const codes = [...new Set(codesOf(op))];
  const statuses = [...new Set(codes.map((code) => ERRORS[code].status))].toSorted((a, b) => a - b);
  return statuses.map((status) => [status, codes.filter((code) => ERRORS[code].status === status)]);
}
