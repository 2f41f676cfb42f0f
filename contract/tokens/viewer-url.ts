import { type ViewerClaims, mintAlias, mintViewerToken } from "./viewer.ts";

const SECOND_MS = 1_000;

/** What is to be opened, and until when (ms since the epoch). */
export interface Opening {
  id: string;
  org: string;
  now: number;
  expiresAt: number;
  /** A hand-off, to take the session over; null: to watch it. */
  handoff: string | null;
}

/** A token of a viewer, and the path of the socket that it opens, alias and token in it. */
export async function mintViewerUrl(
  secret: string,
  { id, org, now, expiresAt, handoff }: Opening,
): Promise<{ token: string; path: string; expiresInSeconds: number }> {
  const iat = Math.floor(now / SECOND_MS);
  const exp = Math.max(iat + 1, Math.floor(expiresAt / SECOND_MS));
  const sub = await mintAlias(secret, { id, org, expiresAt: exp * SECOND_MS });
  const claims: ViewerClaims =
    handoff === null
      ? { aud: "observe", mode: "observe", sub, org, iat, exp }
      : { aud: "live", mode: "control", hid: handoff, sub, org, iat, exp };
  const token = await mintViewerToken(secret, claims);
  return { token, path: `/ws/${claims.aud}/${sub}?token=${token}`, expiresInSeconds: exp - iat };
}
