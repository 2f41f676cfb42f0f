import { parseApiKey } from "@svc/contract/ids.ts";
import { logOf } from "@svc/contract/log.ts";
import type { WebSocketClass } from "@svc/sdk/context.ts";
import { Svc } from "@svc/sdk/svc.ts";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { WebSocket as NodeWebSocket } from "ws";
import type { Home } from "./home.ts";
import { LocalTurns } from "./local-turns.ts";
import { mcpServer } from "./server.ts";
import type { Tool } from "./tool.ts";
import { toolsOf } from "./tools/index.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** How long the release of browsers may take when the server ends. */
const RELEASE_MS = 4_500;

const log = logOf("mcp");

/**
 * Serves the tools over stdin and stdout until the client closes them, or SIGINT or SIGTERM; then releases the browsers that
 * were created. Answers the exit code of the process. It reads SVC_API_KEY, SVC_BASE_URL, SVC_BROWSER_URL,
 * SVC_DEFAULT_PROFILE and SVC_TOOLSETS.
 */
export async function serveLocal(env: Env = process.env): Promise<number> {
  // Stdout is the protocol's alone.
  console.log = console.info = console.debug = console.error;
  const opened = new Set<string>();
  const parts = partsOf(env, opened);
  if (typeof parts === "string") {
    process.stderr.write(`${parts}\n`);
    return 1;
  }
  const { tools, home } = parts;
  const onerror = (reason: Error): void => log.error("mcp_failed", { reason });
  const server = serveStdio(() => mcpServer(tools, home), { onerror });
  await ended();
  await Promise.all([server.close(), release(home.svc, opened)]);
  return 0;
}

/** The parts of a server, or a text that says what is wrong with its settings. */
function partsOf(env: Env, opened: Set<string>): { tools: readonly Tool[]; home: Home } | string {
  const apiKey = env["SVC_API_KEY"] ?? "";
  if (!parseApiKey(apiKey))
    return "Set SVC_API_KEY to an API key (svc_live_…): it is missing, or is none.";
  try {
    const tools = toolsOf(env["SVC_TOOLSETS"]);
    return { tools, home: homeOf(apiKey, env, opened) };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function homeOf(apiKey: string, env: Env, opened: Set<string>): Home {
  const { SVC_BASE_URL: baseUrl, SVC_BROWSER_URL: browserUrl, SVC_DEFAULT_PROFILE: name } = env;
  // Node has a class of its own since 22.
  const WebSocket = globalThis.WebSocket ?? (NodeWebSocket as unknown as WebSocketClass);
  const urls = { baseUrl: baseUrl || undefined, browserUrl: browserUrl || undefined };
  const svc = new Svc({ apiKey, ...urls, WebSocket });
  let calls = 0;
  return {
    svc,
    WebSocket,
    turns: new LocalTurns(svc),
    defaultProfile: name ? { name, origin: "env" } : undefined,
    opened: (sessionId) => opened.add(sessionId),
    requestId: () => `local-${process.pid}-${(calls += 1)}`,
    log: log.error,
  };
}

/** Resolves when the client has gone, or the process is told to end. */
function ended(): Promise<void> {
  return new Promise((resolve) => {
    for (const event of ["end", "close"]) process.stdin.once(event, resolve);
    for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => resolve());
  });
}

/** Releases the browsers that were not closed; their lease ends those that a gateway does not release. */
async function release(svc: Svc, opened: ReadonlySet<string>): Promise<void> {
  const options = { timeoutMs: RELEASE_MS };
  const releasing = [...opened].map((id) => svc.browsers.release(id, options));
  for (const ended of await Promise.allSettled(releasing))
    if (ended.status === "rejected") log.error("browser_not_released", { reason: ended.reason });
}
