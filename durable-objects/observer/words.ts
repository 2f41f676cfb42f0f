/** Refusals and farewells, as viewers and persons are told them. */
export const NO_POOL = "The session's browser pool is away: reconnect.";
export const READ_ONLY = "This stream is read only: send ack and options, and nothing else.";
export const MALFORMED =
  "This is no message of a person who has taken a session over (docs/OBSERVING.md).";
export const EXPIRED = "The token has expired: ask for a new one.";
export const TAKEN = "Somebody has taken this session over already: one person at a time.";
