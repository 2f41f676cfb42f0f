import { LIMITS } from "@svc/contract/limits.ts";
import { createMcpHandler } from "@modelcontextprotocol/server";
import type { Home } from "./home.ts";
import { mcpServer } from "./server.ts";
import type { Tool } from "./tool.ts";

/** Interval of keep-alives. Only a write shows that a client has gone; without one its call would go on to its deadline. */
const KEEP_ALIVE_MS = 3_000;

/** Answers one HTTP request of an MCP client. Nothing is kept between requests: a session is an argument of a tool. */
export function serveHttp(request: Request, tools: readonly Tool[], home: Home): Promise<Response> {
  const handler = createMcpHandler(() => mcpServer(tools, home), {
    responseMode: "sse",
    keepAliveMs: KEEP_ALIVE_MS,
    maxRequestBodySize: LIMITS.toolCallBytes,
    // The table never changes, so there is nothing to subscribe to.
    maxSubscriptions: 0,
    onerror: (error) =>
      home.log("mcp_request_failed", { requestId: home.requestId(), reason: error }),
  });
  return handler.fetch(request);
}
