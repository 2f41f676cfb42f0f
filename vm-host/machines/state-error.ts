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

/** Throws `Busy` unless nobody has used the machine for `unusedMs`. Without `unusedMs` the rest is an order of the customer. */
export function checkUnused({ use }: { use: MachineUse }, unusedMs: number | undefined): void {
  const found = use.unusedMs;
  if (unusedMs !== undefined && found < unusedMs) throw new Busy(found);
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
