import type { IncomingMessage } from "node:http";
import { type HostClaims, readHostBearer } from "@svc/contract/tokens.ts";

/** Whether a call carries the gateway's bearer for exactly this id. `/drain` uses the id `drain`. */
export async function isFromGateway(
  request: IncomingMessage,
  hostToken: string,
  id: string,
): Promise<boolean> {
  return (await gatewayClaims(request, hostToken, id)) !== null;
}

/** What the gateway's bearer for exactly this id says; null when the call carries none. */
export async function gatewayClaims(
  request: IncomingMessage,
  hostToken: string,
  id: string,
): Promise<HostClaims | null> {
  const bearer = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? "")?.[1];
  if (!bearer) return null;
  const claims = await readHostBearer(hostToken, bearer, Date.now());
  return claims?.id === id ? claims : null;
}
