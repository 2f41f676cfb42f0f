import type { IncomingMessage } from "node:http";
import { readHostBearer } from "@svc/contract/tokens.ts";

/** Whether a call carries the gateway's bearer for exactly this id. `/drain` uses the id `drain`. */
export async function isFromGateway(
  request: IncomingMessage,
  hostToken: string,
  id: string,
): Promise<boolean> {
  const bearer = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? "")?.[1];
  if (!bearer) return false;
  const claims = await readHostBearer(hostToken, bearer, Date.now());
  return claims?.id === id;
}
