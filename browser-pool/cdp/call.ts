import { type JsonObject, isObject } from "./envelope.ts";

const PARSE_ERROR = { code: -32700, message: "Message must be a valid JSON object" };
const INVALID = { code: -32600, message: "Message must have integer 'id' and string 'method'" };

/** A call as a client sends it. */
export interface ClientCall {
  id: number;
  method: string;
  params?: unknown;
  sessionId?: string;
}

/** The call in a text, or the error reply that Chromium would give to a text that is no call. */
export function readCall(text: string): ClientCall | { error: JsonObject; id?: number } {
  let call: unknown;
  try {
    call = JSON.parse(text);
  } catch {
    return { error: PARSE_ERROR };
  }
  if (!isObject(call)) return { error: PARSE_ERROR };
  const { id, method, params, sessionId } = call;
  if (typeof id !== "number" || !Number.isInteger(id)) return { error: INVALID };
  if (typeof method !== "string") return { id, error: INVALID };
  return {
    id,
    method,
    ...(params !== undefined && { params }),
    ...(typeof sessionId === "string" && sessionId !== "" && { sessionId }),
  };
}
