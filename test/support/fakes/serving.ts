import type { IncomingMessage, ServerResponse } from "node:http";

/**
 * Options of a server that a gateway calls. Node's own closes a connection that was idle for 5 s, which a gateway on a
 * slow computer may send its next call on at that moment: real hosts keep it for longer than a gateway does.
 */
export const LASTING = { keepAliveTimeout: 0 };

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
