/** WebSocket close codes of both gateways (decisions). The reason text is always set. */
export const CLOSE_CODES = {
  normal: 1000,
  /** An observer sent something on a read-only stream. */
  observerWrote: 1008,
  /** The service restarts: reconnect. A client treats 1006 the same. */
  restart: 1012,
  tokenExpired: 4401,
  /** The session or VM behind the socket is gone. */
  gone: 4404,
  deadline: 4408,
  paused: 4409,
  reverted: 4410,
  messageTooLarge: 4413,
} as const;

export type CloseCode = (typeof CLOSE_CODES)[keyof typeof CLOSE_CODES];
