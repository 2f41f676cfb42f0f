import type { Operation } from "@svc/contract/operations/operation.ts";
import { mintFileToken, mintObjectToken, type ObjectClaims } from "@svc/contract/tokens.ts";
import { SIGNING_SECRET } from "./secrets.ts";

const LIFE_MS = 60_000;

/** Parameters of a path filled in. */
export const filled = (path: string, value: string): string =>
  path.replace(/:\w+/g, encodeURIComponent(value));

/**
 * The path and query of a call of an operation: with a genuine token where the URL is the credential, else with `id` for
 * each parameter.
 */
export async function calledPath(op: Operation, id = "x"): Promise<string> {
  const expiresAt = Date.now() + LIFE_MS;
  if (op.auth === "objectUrl")
    return filled(op.path, await mintObjectToken(SIGNING_SECRET, objectClaims(op, expiresAt)));
  if (op.auth !== "fileUrl") return filled(op.path, id);
  const mode = op.method === "GET" ? "download" : "upload";
  const claims = { org: "org_x", id, mode, path: "/tmp/a", expiresAt } as const;
  return `${op.path}?token=${await mintFileToken(SIGNING_SECRET, claims)}`;
}

function objectClaims({ method, path }: Operation, expiresAt: number): ObjectClaims {
  const stored = { key: "none", bytes: 5, expiresAt };
  if (path.startsWith("/replay/") && method === "GET")
    return { act: "play", key: "none", expiresAt };
  if (method === "PUT") return { act: "put", ...stored };
  if (method === "POST") return { act: "complete", ...stored, upload: "none" };
  return { act: "get", key: "none", contentType: "text/plain", expiresAt };
}
