import type { MiddlewareHandler } from "hono";
import { matchedRoutes } from "hono/route";
import type { AppContext, AppEnv } from "../context.ts";

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
  console.log(
    JSON.stringify({
      level: status >= 500 ? "error" : "info",
      event: "request",
      requestId,
      method: c.req.method,
      route,
      status,
      ms: Date.now() - startedAt,
      org: c.get("caller")?.orgId,
    }),
  );
};

/** The pattern that was matched, such as `/sessions/:id`. */
function routeOf(c: AppContext): string {
  return matchedRoutes(c).find(({ path }) => path !== "/*" && path !== "*")?.path ?? "*";
}
