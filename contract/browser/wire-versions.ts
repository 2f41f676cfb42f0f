import { errorBody, type ErrorBody } from "../errors.ts";

/** Playwright minors whose wire protocol /ws serves, newest first. */
export const WIRE_VERSIONS = ["1.65", "1.64", "1.63"] as const;
/** A Playwright minor whose wire protocol is served. */
export type WireVersion = (typeof WIRE_VERSIONS)[number];

/** Header of POST /sessions that names the client's wire version, so that a mismatch is known before the upgrade. */
export const WIRE_VERSION_HEADER = "x-svc-wire-version";

/** `1.65` of `Playwright/1.65.1 (x64; …)`; null for any other client. */
export function wireVersionOf(userAgent: string | null | undefined): string | null {
  return /^Playwright\/(\d+\.\d+)/.exec(userAgent ?? "")?.[1] ?? null;
}

/** Plain text of a socket's 428: the client's version, the versions that are `served`, newest first, and what to do. */
export function wireMismatch(
  client: string,
  served: readonly WireVersion[] = WIRE_VERSIONS,
): string {
  const [newest] = served;
  const cdp = "to cdpEndpoint with connectOverCDP, which works with any version.\n";
  if (!newest) return `Playwright ${client} is not served here. Connect ${cdp}`;
  return `Playwright ${client} does not speak a wire version served here (${served.join(", ")}). Install playwright ${newest}, or connect ${cdp}`;
}

/** JSON body of a 428 of POST /sessions (document 1, Errors: `supported`). */
export function wireMismatchBody(client: string, served: readonly WireVersion[]): ErrorBody {
  const message = wireMismatch(client, served).trimEnd();
  return errorBody({ code: "WireVersionMismatch", message, context: { supported: [...served] } });
}
