import { ProtocolError, ProtocolErrorCode, Server } from "@modelcontextprotocol/server";
import { call } from "./call.ts";
import type { Home } from "./home.ts";
import { listOf } from "./list.ts";
import { Progress } from "./progress.ts";
import type { Tool } from "./tool.ts";

const INFO = { name: "svc", title: "Browsers and microVMs", version: "0.1.0" };

const INSTRUCTIONS = `Browsers (svc_browser_*), and sandboxes and desktops (all other tools), on demand. Create tools answer a sessionId that the others take, and start something that is paid for: end it with svc_browser_close or svc_kill when you are done. Read a page with svc_browser_read_page (format: snapshot gives refs to click); look at it with svc_browser_screenshot.`;

/** A server of these tools: one for each HTTP request, or one for a local process. */
export function mcpServer(tools: readonly Tool[], home: Home): Server {
  const server = new Server(INFO, { capabilities: { tools: {} }, instructions: INSTRUCTIONS });
  const listed = listOf(tools);
  server.setRequestHandler("tools/list", () => ({ tools: listed }));
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
    const at = tools.findIndex(({ name }) => name === params.name);
    const tool = tools[at];
    if (!tool) throw noTool(params.name);
    const progress = new Progress(mcpReq._meta?.progressToken, mcpReq.notify);
    try {
      const { signal } = mcpReq;
      const caller = { signal, progress: (message: string) => progress.say(message) };
      const result = await call(tool, params.arguments, home, caller);
      return server.projectCallToolResult(result, listed[at]?.outputSchema);
    } finally {
      progress.end();
    }
  });
  return server;
}

const noTool = (name: string): ProtocolError =>
  new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    `There is no tool ${name}. tools/list has those there are.`,
  );
