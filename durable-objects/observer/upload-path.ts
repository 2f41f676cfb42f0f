import { LIMITS } from "@svc/contract/limits.ts";
import { mintFileToken, readSessionId } from "@svc/contract/tokens.ts";

/** A file that a person brings into a session. `expiresAt`: when their hand-off ends, in ms since the epoch. */
interface Brought {
  id: string;
  name: string;
  expiresAt: number | null;
}

/** The path of the gateway that takes the bytes of the file, without another credential. */
export async function mintUploadPath(
  secret: string,
  { id, name, expiresAt }: Brought,
): Promise<string> {
  const org = (await readSessionId(secret, id))?.org ?? "";
  const until = Math.min(Date.now() + LIMITS.fileUrlMs, expiresAt ?? Infinity);
  const claims = { id, org, of: "session", mode: "upload", path: name, expiresAt: until } as const;
  return `/files/upload?token=${await mintFileToken(secret, claims)}`;
}
