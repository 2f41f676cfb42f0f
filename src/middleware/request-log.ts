import { logOf } from "@svc/contract/log.ts";
import type { MiddlewareHandler } from "hono";
import { matchedRoutes } from "hono/route";
import type { AppContext, AppEnv } from "../context.ts";

const log = logOf("src");

/**
 * Gives each request an id and logs one line when it is answered. The line names the route, never
 * the path or query: signed ids and tokens stand there.
 */
export const requestLog: MiddlewareHandler<AppEnv> = async (c, next) => {
  const requestId = crypto.randomUUID();
  const startedAt = Date.now();
  c.set("requestId", requestId);
  await next();
  const { status } = c.res;
  const route = routeOf(c);
  // The headers of an upgrade response belong to the host.
  if (status !== 101) c.header("x-request-id", requestId);
  // Every host beats every few seconds: only what went wrong is worth a line.
  if (status < 400 && route.startsWith("/internal/hosts/")) return;
  const ms = Date.now() - startedAt;
  const facts = { requestId, method: c.req.method, route, status, ms };
  log[status >= 500 ? "error" : "info"]("request", { ...facts, org: c.get("caller")?.orgId });
};

/** The pattern that was matched, such as `/sessions/:id`. */
function routeOf(c: AppContext): string {
  return matchedRoutes(c).find(({ path }) => path !== "/*" && path !== "*")?.path ?? "*";
}
