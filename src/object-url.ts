import { LIMITS } from "@svc/contract/limits.ts";
import { mintObjectToken, type ObjectClaims } from "@svc/contract/tokens.ts";

/** A URL of a stored object that needs no other credential, for a few minutes. */
export async function objectUrl(
  env: Env,
  baseUrl: string,
  object: Omit<ObjectClaims, "expiresAt">,
): Promise<{ url: string; expiresInSeconds: number }> {
  const expiresAt = Date.now() + LIMITS.objectUrlMs;
  const token = await mintObjectToken(env.SVC_SIGNING_SECRET, { ...object, expiresAt });
  return { url: `${baseUrl}/objects/${token}`, expiresInSeconds: LIMITS.objectUrlMs / 1000 };
}
