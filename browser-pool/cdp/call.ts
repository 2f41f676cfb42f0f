import { type JsonObject, isObject } from "./envelope.ts";

const PARSE_ERROR = { code: -32700, message: "Message must be a valid JSON object" };
const INVALID = { code: -32600, message: "Message must have integer 'id' and string 'method'" };

/** A call of a client as it sends it. */
export interface ClientCall {
  id: number;
  method: string;
  params?: unknown;
  sessionId?: string;
}

/** A call, or the reply that says why it is none, as Chromium would give it. */
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
