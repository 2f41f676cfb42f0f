import { ApiError, isApiError } from "@svc/contract/errors.ts";
import { logOf } from "@svc/contract/log.ts";

const log = logOf("control-plane");

/** Runs a query of D1 or R2. Any fault of the store is `ControlPlaneUnavailable`; the log has the reason. */
export async function ask<T>(store: object | undefined, query: () => Promise<T>): Promise<T> {
  if (!store)
    throw new ApiError("ControlPlaneNotConfigured", "The control plane is not configured.");
  try {
    return await query();
  } catch (error) {
    if (isApiError(error)) throw error;
    log.error("store_failed", { reason: error });
    throw new ApiError("ControlPlaneUnavailable", "The control plane is unavailable. Try again.");
  }
}
