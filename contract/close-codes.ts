/** WebSocket close codes of the gateway and the hosts; the specification leaves them open. The reason text is always set. */
export const CLOSE_CODES = {
  normal: 1000,
  protocolBroken: 1002,
  notUtf8: 1007,
  observerWrote: 1008,
  restart: 1012,
  tooMany: 1013,
  wrongEndpoint: 4400,
  tokenExpired: 4401,
  gone: 4404,
  deadline: 4408,
  paused: 4409,
  reverted: 4410,
  messageTooLarge: 4413,
} as const;

/** The meaning of each close code for a client. */
export const CLOSE_MEANINGS = {
  normal: "The client or the session ended the connection.",
  protocolBroken: "A message breaks the rules of the socket: the reason names the rule.",
  notUtf8: "A text message is not UTF-8.",
  observerWrote: "An observer went on sending on a read-only stream.",
  restart: "The service restarts: reconnect. A client treats 1006 the same.",
  tooMany: "Too many sockets of this kind are open: close one, then try again.",
  wrongEndpoint: "The session's other endpoint speaks this protocol: the reason names the call.",
  tokenExpired: "The token of the socket's URL has expired: ask for a new URL.",
  gone: "The session or sandbox behind the socket is gone.",
  deadline: "The session reached its deadline.",
  paused: "The sandbox was paused: resume it, then reconnect.",
  reverted: "The sandbox went back to a snapshot: reconnect.",
  messageTooLarge: "A message is longer than allowed.",
} as const satisfies Record<keyof typeof CLOSE_CODES, string>;

/** The sockets that are closed with each code. No socket of this release uses a code with none. */
export const CLOSE_SOCKETS = {
  normal: ["/ws", "/cdp", "/ws/live"],
  protocolBroken: ["/ws", "/cdp", "/control", "/stream"],
  notUtf8: ["/ws", "/cdp", "/control"],
  observerWrote: ["/ws/observe", "/ws/live"],
  restart: ["/ws", "/ws/observe", "/ws/live", "/control", "/stream"],
  tooMany: ["/control"],
  wrongEndpoint: ["/ws", "/cdp"],
  tokenExpired: ["/ws/observe", "/ws/live"],
  gone: ["/ws", "/cdp", "/ws/observe", "/ws/live", "/control", "/stream", "previews"],
  deadline: ["/ws", "/cdp", "/ws/observe", "/ws/live"],
  paused: ["/control", "/stream", "previews"],
  reverted: ["/control", "/stream", "previews"],
  messageTooLarge: ["/ws", "/cdp", "/control", "/stream"],
} as const satisfies Record<keyof typeof CLOSE_CODES, readonly string[]>;
