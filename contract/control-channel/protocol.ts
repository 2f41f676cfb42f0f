/** Version of the protocol in `rpc.hello`. */
export const PROTOCOL = 1;

/** The optional subprotocol of the WebSocket. */
export const SUBPROTOCOL = "svc.control.v1";

/** Output inside an answer, per stream; more is dropped and `truncated` says so. */
export const ANSWER_OUTPUT_BYTES = 256 * 1024;

/** Output of one-shot exec that is kept, per stream (decisions). */
export const EXEC_OUTPUT_BYTES = 8 * 1024 * 1024;

/** Output kept for a client that comes back, per process. */
export const RING_BYTES = 1024 * 1024;

/** How long a process that was started with `hold` waits for somebody to attach, once its output fills `RING_BYTES`. */
export const HOLD_MS = 30_000;

/** Exit codes that the service sets itself (decisions). */
export const EXIT_CODES = { timedOut: 124, noCommand: 127, outOfMemory: 137 } as const;
