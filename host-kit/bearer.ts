import type { IncomingMessage } from "node:http";
import { type HostClaims, readHostBearer } from "@svc/contract/tokens.ts";

/** The claims of the gateway's bearer for exactly this id; null for a call without it. `/drain` uses the id `drain`. */
export async function callerOf(
  request: IncomingMessage,
  hostToken: string,
  id: string,
): Promise<HostClaims | null> {
  const bearer = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? "")?.[1];
  const claims = bearer ? await readHostBearer(hostToken, bearer, Date.now()) : null;
  return claims?.id === id ? claims : null;
}

/** Whether a call carries the gateway's bearer for exactly this id. */
export async function isFromGateway(...call: Parameters<typeof callerOf>): Promise<boolean> {
  return (await callerOf(...call)) !== null;
}
