import { logOf } from "@svc/contract/log.ts";

const log = logOf("durable-objects");

/** Logs that a call to a host came to nothing. `what` is the call without ids, which open sockets: `PUT /slots/:id`. */
export function noteFault(what: string, reason: unknown): void {
  log.warn("host_call_failed", { call: what, reason });
}
