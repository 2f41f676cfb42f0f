import type { StateRefused } from "@svc/contract/host-protocol/vm-states.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import { NotRestorable } from "../driver.ts";
import type { MachineUse } from "./use.ts";

/** Why a change of state is not done. */
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

/** The machine is in use, or was so lately that it is not to rest yet. */
export class Busy extends StateError {
  readonly #unusedMs: number;

  constructor(unusedMs: number) {
    super(409, "Busy", "The machine is in use.");
    this.#unusedMs = unusedMs;
  }

  override get body(): StateRefused {
    return { ...super.body, unusedMs: this.#unusedMs };
  }
}

/**
 * A check that throws `Busy` unless nobody has used the machine for `unusedMs`, nor since this was called: a rest takes a
 * while, and a use in between counts. Without `unusedMs` the rest is an order of the customer, and nothing is checked.
 */
export function unusedCheck({ use }: { use: MachineUse }, unusedMs: number | undefined) {
  const { count } = use;
  return (): void => {
    const found = use.unusedMs;
    if (unusedMs !== undefined && (found < unusedMs || use.count !== count)) throw new Busy(found);
  };
}

/** What a fault of a machine, a disk or the object store means to the caller. */
export function failed(
  error: unknown,
  code: "SnapshotFailed" | "ResumeFailed",
  log: Log,
): StateError {
  if (error instanceof StateError) return error;
  const reason = messageOf(error);
  if (error instanceof NotRestorable) return new StateError(409, "SnapshotNotRestorable", reason);
  log.error({ code, reason }, "state_change_failed");
  return new StateError(503, code, reason);
}
