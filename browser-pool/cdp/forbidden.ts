import type { ClientCall } from "./call.ts";

/** The session belongs to the service: a client may leave it, not end the browser under the others. */
export type Forbidden = "leave" | "refuse";

const METHODS: Record<string, Forbidden> = {
  "Browser.close": "leave",
  "Browser.crash": "leave",
  "Browser.crashGpuProcess": "refuse",
};

/** What a call of a client means when it must not reach the browser. */
export function forbiddenBy(call: ClientCall): Forbidden | null {
  return METHODS[call.method] ?? null;
}

/** The answer to such a call. `leave` succeeds: to its caller the browser is closed. */
export function forbiddenReply(call: ClientCall, forbidden: Forbidden) {
  const where = call.sessionId ? { sessionId: call.sessionId } : {};
  if (forbidden === "leave") return { id: call.id, result: {}, ...where };
  return { id: call.id, error: { code: -32000, message: "Not allowed here." }, ...where };
}
