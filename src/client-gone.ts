import { ApiError, isApiError } from "@svc/contract/errors.ts";
import { logOf } from "@svc/contract/log.ts";
import type { AppContext } from "./context.ts";

const log = logOf("src");

/** What `read` reads of a request's body. A client that goes away before its body is whole is no fault of ours. */
export async function fromClient<T>(c: AppContext, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    // A body that is read twice is a bug.
    if (isApiError(error) || error instanceof TypeError) throw error;
    log.info("client_gone", { requestId: c.get("requestId"), reason: error });
    // Nobody hears it.
    throw new ApiError("ValidationError", "The body was cut off.");
  }
}
