import { ApiError } from "@svc/contract/errors.ts";
import type { Auth } from "@svc/contract/operations/operation.ts";
import type { MiddlewareHandler } from "hono";
import type { AppEnv } from "../context.ts";
import { isLocalHost, isLocalOrigin, readAllowed } from "../local-names.ts";

/** Signed URLs are for pages of anybody: their token alone counts. */
const FOR_ANYBODY: readonly Auth[] = ["objectUrl", "fileUrl"];

/**
 * Refuses what a web page of a stranger sends to a gateway on this machine: another Host (DNS rebinding), and, where a
 * credential stands in a header, another Origin. Without SVC_ALLOWED_HOSTS nothing is refused: at the edge the platform
 * decides which names lead here.
 */
export function localInstance(auth: Auth): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const list = c.env.SVC_ALLOWED_HOSTS;
    if (list === undefined || FOR_ANYBODY.includes(auth)) return next();
    const allowed = readAllowed(list);
    if (!isLocalHost(c.req.header("host") ?? "", allowed)) throw foreignHost();
    const origin = c.req.header("origin");
    if (auth !== "none" && origin !== undefined && !isLocalOrigin(origin, allowed))
      throw foreignOrigin();
    await next();
  };
}

const foreignHost = (): ApiError =>
  new ApiError(
    "HostNotAllowed",
    "This service runs on one machine and does not answer under this host name. Use localhost, or add the name to SVC_ALLOWED_HOSTS.",
  );

const foreignOrigin = (): ApiError =>
  new ApiError(
    "OriginNotAllowed",
    "This service runs on one machine and takes no requests from pages of this origin. Serve the page from localhost, or add the origin's host name to SVC_ALLOWED_HOSTS.",
  );
