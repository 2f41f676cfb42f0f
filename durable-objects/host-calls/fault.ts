import { logOf } from "@svc/contract/log.ts";

const log = logOf("durable-objects");

/** Logs that a call to a host came to nothing. `what` is the call without ids, which open sockets: `PUT /slots/:id`. */
export function noteFault(what: string, reason: unknown): void {
  log.warn("host_call_failed", { call: what, reason });
}

/** Logs that a host has refused a call: its status and code, and its own words. `what` is the call without ids. */
export function noteRefusal(what: string, status: number, refused: HostRefusal): void {
  const { error, hint, code } = refused;
  log.warn("host_refused", { call: what, status, code, reason: hint ?? error });
}

/** The part of every host's refusal that says why. */
interface HostRefusal {
  error: string;
  code?: string | undefined;
  hint?: string | undefined;
}
