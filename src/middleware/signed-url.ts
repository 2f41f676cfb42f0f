import { ApiError } from "@svc/contract/errors.ts";
import type { Method, Operation } from "@svc/contract/operations/operation.ts";
import {
  type FileClaims,
  type ObjectClaims,
  readFileToken,
  readObjectToken,
} from "@svc/contract/tokens.ts";
import type { MiddlewareHandler } from "hono";
import type { AppEnv } from "../context.ts";
import { invalidUrl } from "../routes/objects/invalid-url.ts";

/** What the token of an object's URL must be signed for, by the method that shows it. */
const ACTS: Partial<Record<Method, readonly ObjectClaims["act"][]>> = {
  GET: ["get"],
  PUT: ["put", "part"],
  POST: ["complete"],
};
const PLAY: readonly ObjectClaims["act"][] = ["play"];

/** Checks the token in the path of `/objects/:token` and `/replay/:token`. Every fault of it is the same 404. */
export function checkObjectUrl({ method, path }: Operation): MiddlewareHandler<AppEnv> {
  const acts = path.startsWith("/replay/") ? PLAY : (ACTS[method] ?? []);
  return async (c, next) => {
    const token = c.req.param("token") ?? "";
    const claims = await readObjectToken(c.env.SVC_SIGNING_SECRET, token, acts, Date.now());
    if (!claims) throw invalidUrl();
    c.set("objectUrl", claims);
    await next();
  };
}

/** Checks the token in the query of `/files/download` and `/files/upload`. */
export function checkFileUrl({ method }: Operation): MiddlewareHandler<AppEnv> {
  const mode: FileClaims["mode"] = method === "GET" ? "download" : "upload";
  return async (c, next) => {
    const token = c.req.query("token") ?? "";
    const claims = await readFileToken(c.env.SVC_SIGNING_SECRET, token, Date.now());
    if (claims?.mode !== mode) {
      const text = `This URL does not allow the ${mode}, or not any more.`;
      throw new ApiError("InvalidFileToken", text);
    }
    c.set("fileUrl", claims);
    await next();
  };
}
