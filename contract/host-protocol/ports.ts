/** Prefix of every header that only gateway and hosts set: what a customer or a guest sends of it is dropped. */
export const OWN_HEADERS = "x-svc-";

/**
 * Headers of a customer that a call to a host cannot carry under their own names: the runtime or the
 * gateway's bearer stands there. They travel as `x-svc-forward-<name>`, and the host puts them back.
 */
export const FORWARDED_HEADERS = [
  "host",
  "authorization",
  "accept-encoding",
  "cache-control",
  "pragma",
] as const;

export const FORWARD_PREFIX = `${OWN_HEADERS}forward-`;

/** Tells whose answer it is: `guest`, the server's inside, or `host`, which could not reach it. */
export const ANSWER_HEADER = `${OWN_HEADERS}answer`;
