/** How Chromium names what kept it from a target: without a proxy, and by the managed one. */
export type NetError =
  | "ERR_ADDRESS_UNREACHABLE"
  | "ERR_BLOCKED_BY_ADMINISTRATOR"
  | "ERR_CONNECTION_FAILED"
  | "ERR_CONNECTION_REFUSED"
  | "ERR_CONNECTION_RESET"
  | "ERR_CONNECTION_TIMED_OUT"
  | "ERR_INSUFFICIENT_RESOURCES"
  | "ERR_NAME_NOT_RESOLVED"
  | "ERR_NETWORK_CHANGED"
  | "ERR_PROXY_CERTIFICATE_INVALID"
  | "ERR_PROXY_CONNECTION_FAILED"
  | "ERR_TUNNEL_CONNECTION_FAILED";

/** Why a target is not reached. `reason` is for the customer where the forwarder itself refuses. */
export class Refusal extends Error {
  readonly netError: NetError;
  readonly reason: string | null;

  constructor(netError: NetError, reason: string | null = null) {
    super(reason ?? netError);
    this.netError = netError;
    this.reason = reason;
  }
}

const BY_CODE: Record<string, NetError> = {
  ECONNREFUSED: "ERR_CONNECTION_REFUSED",
  ECONNRESET: "ERR_CONNECTION_RESET",
  ETIMEDOUT: "ERR_CONNECTION_TIMED_OUT",
  EHOSTUNREACH: "ERR_ADDRESS_UNREACHABLE",
  ENETUNREACH: "ERR_ADDRESS_UNREACHABLE",
};

/** The refusal for a failed connection: Chromium's name of that error. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return new Refusal(BY_CODE[code] ?? "ERR_CONNECTION_FAILED");
}
