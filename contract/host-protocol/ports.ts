/** Prefix of every header that only gateway and hosts set: such headers of a customer or a guest are dropped. */
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

/** Begins the name of a forwarded header. */
export const FORWARD_PREFIX = `${OWN_HEADERS}forward-`;

/** Header that tells who answers: `guest`, the server inside the machine, or `host`, which could not reach that server. */
export const ANSWER_HEADER = `${OWN_HEADERS}answer`;
