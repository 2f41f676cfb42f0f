import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { writeMcp } from "../../scripts/bundle-mcp.ts";
import { tempFolder } from "../service/endings.ts";
import type { Customer } from "../service/customer.ts";

const CALL_MS = 180_000;
const newClient = (): Client => new Client({ name: "svc-bench", version: "1" });

/** A client of the hosted server. */
export async function hostedClient({ base, key }: Customer): Promise<Client> {
  const client = newClient();
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", base), { requestInit }));
  return client;
}

/** The file of the local server. */
export const localServer = (): Promise<string> => writeMcp(mkdtempSync(join(tempFolder(), "mcp-")));

/** Starts a local server, and answers a client that has its list of tools. */
export async function localClient(path: string, { base, key }: Customer): Promise<Client> {
  const client = newClient();
  const env = { SVC_API_KEY: key, SVC_BASE_URL: base };
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [path], env }));
  await client.listTools();
  return client;
}

/** Calls a tool, and answers its facts. Rejects when the tool refuses. */
export async function callTool(
  client: Client,
  name: string,
  args: Record<string, unknown> = {},
): Promise<Record<string, unknown>> {
  const { content, isError } = await client.callTool(
    { name, arguments: args },
    { timeout: CALL_MS },
  );
  const [first] = content;
  const text = first?.type === "text" ? first.text : "";
  if (isError) throw new Error(`${name}: ${text}`);
  return JSON.parse(text.split("\n", 1)[0] ?? "") as Record<string, unknown>;
}
