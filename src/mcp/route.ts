import { ApiError } from "@svc/contract/errors.ts";
import { logOf } from "@svc/contract/log.ts";
import { serveHttp } from "@svc/mcp/http.ts";
import type { Home } from "@svc/mcp/home.ts";
import { toolsOf, UnknownToolset } from "@svc/mcp/tools/index.ts";
import type { Tool } from "@svc/mcp/tool.ts";
import { Svc } from "@svc/sdk/svc.ts";
import type { Hono } from "hono";
import { type AppContext, type AppEnv, baseUrlOf, type Handler } from "../context.ts";
import { bearerOf } from "../middleware/auth.ts";
import { insideFetch, insideSocket } from "./inside.ts";
import { turnsOf } from "./turns.ts";

const log = logOf("mcp");

/** A key of ours, anywhere in a text. */
const KEY = /svc_live_/;

/** The agent tool server (document 1). `app` answers what its tools ask of the gateways. */
export function mcp(app: Hono<AppEnv>["fetch"]): Handler {
  return async (c) => {
    // Backends log query strings (document 1, Agent tool server).
    if (KEY.test(new URL(c.req.url).search)) throw keyInUrl();
    return serveHttp(c.req.raw, wantedTools(c), homeOf(c, app));
  };
}

function homeOf(c: AppContext, app: Hono<AppEnv>["fetch"]): Home {
  const send = insideFetch(c, app);
  const WebSocket = insideSocket(send);
  const options = { apiKey: bearerOf(c) ?? "", baseUrl: baseUrlOf(c), fetch: send, WebSocket };
  return {
    svc: new Svc({ ...options, browserUrl: options.baseUrl }),
    WebSocket,
    turns: turnsOf(c),
    gone: c.req.raw.signal,
    keep: (work) => c.executionCtx.waitUntil(work),
    defaultProfile: defaultProfileOf(c),
    // A browser's lease ends it.
    opened: () => {},
    requestId: () => c.get("requestId"),
    log: log.error,
  };
}

/** The header beats the query (document 1). */
function defaultProfileOf(c: AppContext): Home["defaultProfile"] {
  const header = c.req.header("x-svc-default-profile");
  if (header) return { name: header, origin: "header" };
  const query = c.req.query("defaultProfile");
  return query ? { name: query, origin: "query" } : undefined;
}

function wantedTools(c: AppContext): readonly Tool[] {
  try {
    return toolsOf(c.req.query("toolsets"));
  } catch (error) {
    if (!(error instanceof UnknownToolset)) throw error;
    throw new ApiError("ValidationError", error.message, { field: "toolsets" });
  }
}

const keyInUrl = (): ApiError =>
  new ApiError(
    "ValidationError",
    "The URL has an API key in it, and URLs are logged: revoke that key, and send the new one as Authorization: Bearer alone.",
  );
