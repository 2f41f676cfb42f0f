import type * as z from "zod";
import type { ErrorCode } from "../errors.ts";

/** HTTP methods of operations. */
export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/**
 * The credential of an operation, checked before a byte of the body is read: an API key, a token of the console, the
 * operator's token, a host's token, the signed token of `/objects/:token` and `/replay/:token` or of `/files/…?token=`, or none.
 */
export type Auth = "key" | "console" | "operator" | "host" | "objectUrl" | "fileUrl" | "none";

/** One REST operation: the source of routes, sdk types, openapi.json, llms.txt and the every-route tests. */
export interface Operation {
  method: Method;
  /** With `:name` parameters. A `:id` under /sessions is a signed session id. */
  path: `/${string}`;
  /** The first sentence says what it does: lists show it alone. */
  summary: string;
  auth: Auth;
  /** Longest request body; a longer body is 413 before it is read. */
  bodyBytes: number;
  /** The operation honours Idempotency-Key (document 2, Idempotency). */
  idempotent?: true;
  /** The request body is bytes, passed on as they come: the service never holds it whole. */
  isRaw?: true;
  /** A request body is not looked at, however long it is. */
  ignoresBody?: true;
  /** Query parameters, for the documents. */
  query?: Readonly<Record<string, { isRequired?: true; description: string }>>;
  request?: z.ZodType;
  /** A body that does something useful as it stands, for the documents. */
  example?: Readonly<Record<string, unknown>>;
  /** Status of success and its body; null = no body. */
  success: { status: 200 | 201 | 202 | 204; body: z.ZodType | null };
  /** Error codes of the operation, beside those of its credential and its body cap. */
  errors: readonly ErrorCode[];
}
