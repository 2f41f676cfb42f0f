import { LIMITS } from "@svc/contract/limits.ts";
import { mintObjectToken, type ObjectClaims } from "@svc/contract/tokens.ts";

/** A stored object, and as what it is served. */
export type Readable = Omit<Extract<ObjectClaims, { act: "get" }>, "act" | "expiresAt">;

/** A URL of a stored object that needs no other credential, for a few minutes. */
export async function objectUrl(
  env: Env,
  baseUrl: string,
  object: Readable,
): Promise<{ url: string; expiresInSeconds: number }> {
  const expiresAt = Date.now() + LIMITS.objectUrlMs;
  const url = await signedUrl(env, baseUrl, { act: "get", ...object, expiresAt });
  return { url, expiresInSeconds: LIMITS.objectUrlMs / 1000 };
}

/** The URL of the page that plays a replay, for as long as one of `objectUrl`. */
export async function playUrl(env: Env, baseUrl: string, key: string): Promise<string> {
  const claims = { act: "play", key, expiresAt: Date.now() + LIMITS.objectUrlMs } as const;
  return `${baseUrl}/replay/${await mintObjectToken(env.SVC_SIGNING_SECRET, claims)}`;
}

/** The URL by which one act on one object may be done. */
export async function signedUrl(env: Env, baseUrl: string, claims: ObjectClaims): Promise<string> {
  return `${baseUrl}/objects/${await mintObjectToken(env.SVC_SIGNING_SECRET, claims)}`;
}
