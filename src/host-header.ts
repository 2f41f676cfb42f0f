import { ApiError, errorResponse } from "@svc/contract/errors.ts";

/** A name or an address, and perhaps a port. */
const HOST = /^(\[[\da-f:.]+\]|[^\s/?#@\\[\]:]+)(:\d*)?$/i;

/** The 400 of a request whose Host names no host: no URL can be made of it, and none must be. Null for all others. */
export function refuseHost({ url, headers }: Request): Response | null {
  const host = headers.get("host");
  if (URL.canParse(url) && (host === null || HOST.test(host))) return null;
  const text = "host: must be a name or an address, with a port or without";
  return errorResponse(new ApiError("ValidationError", text, { field: "host" }));
}
