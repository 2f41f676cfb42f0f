// Checked by hand: the sdk speaks these messages too, and a library of schemas is larger than the whole of it.
import type { ErrorObject } from "./rpc-error.ts";

/** The highest id of a request: also the number of its stream, hence 32 bits. */
export const LAST_REQUEST_ID = 0xffff_ffff;
const METHOD_CHARACTERS = 100;

/** A request or, without id, a notification. */
export interface Call {
  id?: number;
  method: string;
  params?: Record<string, unknown>;
}

/** An answer: `result` or `error`. The id is null when the request could not be read. */
export interface Answer {
  id: number | null;
  result?: unknown;
  error?: ErrorObject;
}

type Fields = Record<string, unknown>;

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isAbsentOr = (value: unknown, type: "string" | "boolean"): boolean =>
  value === undefined || typeof value === type;

/** Whether a value may be the id of a request. */
export const isRequestId = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) >= 0 && Number(value) <= LAST_REQUEST_ID;

/** Reads a request or a notification; null for anything else. */
export function readCall(message: unknown): Call | null {
  if (!isObject(message) || message["jsonrpc"] !== "2.0") return null;
  const { id, method, params } = message;
  if (typeof method !== "string" || method === "" || method.length > METHOD_CHARACTERS) return null;
  if (id !== undefined && !isRequestId(id)) return null;
  if (params !== undefined && !isObject(params)) return null;
  return { method, ...(id !== undefined && { id }), ...(params && { params }) };
}

/** Reads an answer; null for anything else. */
export function readAnswer(message: unknown): Answer | null {
  if (!isObject(message) || message["jsonrpc"] !== "2.0") return null;
  const { id, result, error } = message;
  if (id !== null && !isRequestId(id)) return null;
  if (error !== undefined && !isErrorObject(error)) return null;
  return { id, result, ...(error && { error }) };
}

function isErrorObject(value: unknown): value is ErrorObject {
  if (!isObject(value)) return false;
  const { code, message, data } = value;
  if (!Number.isInteger(code) || typeof message !== "string") return false;
  if (data === undefined) return true;
  return (
    isObject(data) &&
    isAbsentOr(data["code"], "string") &&
    isAbsentOr(data["retryable"], "boolean") &&
    isAbsentOr(data["field"], "string")
  );
}

/** `timeoutMs`, which every request may carry. */
export function timeoutOf(params: object): number | null {
  const { timeoutMs } = params as Fields;
  return typeof timeoutMs === "number" && timeoutMs > 0 && timeoutMs < Infinity ? timeoutMs : null;
}

/** `rpc.credit`: the receiver of a stream has consumed so many bytes more. */
export function readCredit(params: unknown): { stream: number; bytes: number } | null {
  if (!isObject(params)) return null;
  const { stream, bytes } = params;
  return isRequestId(stream) && Number.isSafeInteger(bytes) && Number(bytes) > 0
    ? { stream, bytes: Number(bytes) }
    : null;
}

/** `rpc.cancel`: the id of the request that is given up. */
export function readCancel(params: unknown): number | null {
  return isObject(params) && isRequestId(params["id"]) ? params["id"] : null;
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

/** The JSON of a text frame; undefined when it is none. */
export function readJson(payload: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(payload));
  } catch {
    return undefined;
  }
}
