import type { StateRefused } from "@svc/contract/host-protocol/vm-states.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import { NotRestorable } from "../snapshots/record.ts";

/** A change of state that is not done, and why. */
export class StateError extends Error {
  readonly status: 404 | 409 | 503 | 507;
  readonly code: StateRefused["code"];

  constructor(status: StateError["status"], code: StateRefused["code"], message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }

  get body(): StateRefused {
    const { message: error, code, status } = this;
    return { error, code, retryable: status === 503 || status === 507 };
  }
}

/** What a fault of a machine, a disk or the object store means to who asked. */
export function failed(
  error: unknown,
  code: "SnapshotFailed" | "ResumeFailed",
  log: Log,
): StateError {
  if (error instanceof StateError) return error;
  const reason = messageOf(error);
  if (error instanceof NotRestorable) return new StateError(409, "SnapshotNotRestorable", reason);
  log.error({ reason }, "a change of state failed");
  return new StateError(503, code, reason);
}
