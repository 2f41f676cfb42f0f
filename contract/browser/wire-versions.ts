/** Playwright minors whose wire protocol /ws serves, newest first. */
export const WIRE_VERSIONS = ["1.65"] as const;
export type WireVersion = (typeof WIRE_VERSIONS)[number];

/** Header of POST /sessions that names the client's wire version, so that a mismatch is known before the upgrade. */
export const WIRE_VERSION_HEADER = "x-svc-wire-version";

/** Whether /ws serves this minor, such as `1.65`. */
export function isWireVersion(version: string): version is WireVersion {
  return (WIRE_VERSIONS as readonly string[]).includes(version);
}

/** `1.65` of `Playwright/1.65.1 (x64; …)`; null for any other client. */
export function wireVersionOf(userAgent: string | null | undefined): string | null {
  return /^Playwright\/(\d+\.\d+)/.exec(userAgent ?? "")?.[1] ?? null;
}

/** Plain text of a 428: what the client has, what is served, what to do. */
export function wireMismatch(client: string): string {
  const served = WIRE_VERSIONS.join(", ");
  return `Playwright ${client} does not speak a wire version served here (${served}). Install playwright ${WIRE_VERSIONS[0]}, or connect to cdpEndpoint with connectOverCDP, which works with any version.\n`;
}
