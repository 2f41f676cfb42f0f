import * as z from "zod";
import { fromBase64url, toBase64url } from "../base64url.ts";
import { hmacKey, readClaims, sealClaims } from "../tokens.ts";

/** What a viewer of a session is given: an alias in place of the session id, which opens /ws and /cdp, and a token. */

const ALIAS = "obs_";
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The session behind an alias. */
const AliasClaims = z.object({
  id: z.string(),
  org: z.string(),
  /** Milliseconds since the epoch. */
  expiresAt: z.number(),
});
export type AliasClaims = z.infer<typeof AliasClaims>;

/** Whether a name in a path says that it is an alias. */
export const isAlias = (name: string): boolean => name.startsWith(ALIAS);

/** Seals a session id into an alias: its holder cannot read it, nor use it as the id. */
export async function mintAlias(secret: string, claims: AliasClaims): Promise<string> {
  return ALIAS + (await sealClaims(secret, "observer", claims));
}

/** The session behind an alias that is genuine and not expired, else null. */
export async function readAlias(
  secret: string,
  alias: string,
  now: number,
): Promise<AliasClaims | null> {
  if (!isAlias(alias)) return null;
  const meant = { purpose: "observer", schema: AliasClaims } as const;
  return readClaims(secret, meant, alias.slice(ALIAS.length), now);
}

const HEADER = { alg: "HS256", typ: "JWT" } as const;
const Header = z.strictObject({ alg: z.literal(HEADER.alg), typ: z.literal(HEADER.typ) });

/** The claims of a viewer's JWT. Its subject is an alias, so that it names a session only to us. */
const ViewerClaims = z.object({
  /** `live`: it opens `/ws/live`, for the hand-off `hid`. */
  aud: z.enum(["observe", "live"]),
  mode: z.enum(["observe", "control"]),
  hid: z.string().exactOptional(),
  sub: z.string(),
  org: z.string(),
  /** Seconds since the epoch. */
  iat: z.number(),
  exp: z.number(),
});
export type ViewerClaims = z.infer<typeof ViewerClaims>;

/** Signs a viewer's token: a JWT by HS256, under a key of its own. */
export async function mintViewerToken(secret: string, claims: ViewerClaims): Promise<string> {
  const parts = [HEADER, claims].map((part) => toBase64url(encoder.encode(JSON.stringify(part))));
  const signed = parts.join(".");
  const mac = await crypto.subtle.sign("HMAC", await viewerKey(secret), encoder.encode(signed));
  return `${signed}.${toBase64url(new Uint8Array(mac))}`;
}

/** The claims of a viewer's token that is genuine and not expired, else null. */
export async function readViewerToken(
  secret: string,
  token: string,
  now: number,
): Promise<ViewerClaims | null> {
  const [header = "", payload = "", mac = "", ...rest] = token.split(".");
  const bytes = fromBase64url(mac);
  if (rest.length > 0 || !bytes) return null;
  const signed = encoder.encode(`${header}.${payload}`);
  const isGenuine = await crypto.subtle.verify("HMAC", await viewerKey(secret), bytes, signed);
  if (!isGenuine || !Header.safeParse(partOf(header)).success) return null;
  const claims = ViewerClaims.safeParse(partOf(payload));
  return claims.success && claims.data.exp * 1000 > now ? claims.data : null;
}

/** No token of another kind is a signature under this key. */
async function viewerKey(secret: string): ReturnType<typeof hmacKey> {
  const label = encoder.encode("svc/viewer");
  const bytes = await crypto.subtle.sign("HMAC", await hmacKey(secret), label);
  return hmacKey(toBase64url(new Uint8Array(bytes)));
}

function partOf(part: string): unknown {
  const bytes = fromBase64url(part);
  try {
    return bytes && JSON.parse(decoder.decode(bytes));
  } catch {
    return null;
  }
}
