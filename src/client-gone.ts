import { ApiError, isApiError } from "@svc/contract/errors.ts";
import { logOf } from "@svc/contract/log.ts";
import type { AppContext } from "./context.ts";
import type { PassedOn } from "./pass-on.ts";

const log = logOf("src");

/** What `read` reads of a request's body. A client that goes away before its body is whole is no fault of ours. */
export async function fromClient<T>(c: AppContext, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    // A body that is read twice is a bug.
    if (isApiError(error) || error instanceof TypeError) throw error;
    throw clientGone(error, c.get("requestId"));
  }
}

/** What `work` makes of a body that is passed on to it. The work is left alone once the client has gone. */
export async function whileSending<T>(
  c: AppContext,
  { signal }: Pick<PassedOn, "signal">,
  work: Promise<T>,
): Promise<T> {
  const cut = new Promise<never>((_resolve, reject) => {
    signal.addEventListener("abort", () =>
      reject(clientGone("the body was cut off", c.get("requestId"))),
    );
  });
  return Promise.race([work, cut]);
}

/** The error of a client that has gone: nobody hears the answer, the log has the line. */
export function clientGone(reason: unknown, requestId?: string): ApiError {
  log.info("client_gone", { ...(requestId !== undefined && { requestId }), reason });
  return new ApiError("ValidationError", "The body was cut off.");
}
