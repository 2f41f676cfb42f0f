import type { IncomingMessage, ServerResponse } from "node:http";

/** Serves by `answer`. A caller that leaves before its body has come whole is no fault of a double; all else is. */
export const serving =
  (answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>) =>
  (request: IncomingMessage, response: ServerResponse): void => {
    answer(request, response).catch((error: unknown) => {
      if (request.complete) throw error;
    });
  };
