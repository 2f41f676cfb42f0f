import type { ClientCall } from "./call.ts";

/** Calls that end the browser for all clients. A client may leave; the browser belongs to the service. */
export type Forbidden = "leave" | "refuse";

const METHODS: Record<string, Forbidden> = {
  "Browser.close": "leave",
  "Browser.crash": "leave",
  "Browser.crashGpuProcess": "refuse",
};

/** Why a call must not reach the browser; null when it may. */
export function forbiddenBy(call: ClientCall): Forbidden | null {
  return METHODS[call.method] ?? null;
}

/** The reply to a forbidden call. `leave` succeeds: for its caller the browser is closed. */
export function forbiddenReply(call: ClientCall, forbidden: Forbidden) {
  const where = call.sessionId ? { sessionId: call.sessionId } : {};
  if (forbidden === "leave") return { id: call.id, result: {}, ...where };
  return { id: call.id, error: { code: -32000, message: "Not allowed here." }, ...where };
}
