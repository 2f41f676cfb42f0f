import type { IncomingMessage, ServerResponse } from "node:http";

/** Serves by `answer`. A caller that leaves before its body has come whole is no fault of a double; all else is. */
export const serving =
  (answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>) =>
  (request: IncomingMessage, response: ServerResponse): void => {
    answer(request, response).catch((error: unknown) => {
      if (request.complete) throw error;
    });
  };

/** The same for a double that tests share: a fault is the asking test's own, and must not end the process. */
export const servingAll =
  (answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>) =>
  (request: IncomingMessage, response: ServerResponse): void => {
    answer(request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else response.writeHead(500).end(String(error));
    });
  };
