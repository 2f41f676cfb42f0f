import {
  Client as ClientV2,
  StreamableHTTPClientTransport as HttpV2,
} from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as z from "zod";

/** The clients that the tools are tried with: of the stateless revision, and of the one before. */
export const MCP_VERSIONS = ["v2", "v1"] as const;
export type McpVersion = (typeof MCP_VERSIONS)[number];

const Content = z.array(
  z.looseObject({ type: z.string(), text: z.string().optional(), data: z.string().optional() }),
);
const Answer = z.looseObject({
  content: Content,
  structuredContent: z.record(z.string(), z.unknown()).optional(),
  isError: z.boolean().optional(),
  _meta: z
    .looseObject({ "svc/error": z.looseObject({ status: z.number() }).optional() })
    .optional(),
});

/** The answer of a tool. */
export interface ToolAnswer {
  isError: boolean;
  /** The text of an error, or the first line of a result. */
  text: string;
  /** The JSON of that line; empty for an error. */
  json: Record<string, unknown>;
  /** All blocks as they came. */
  content: z.infer<typeof Content>;
  structured: Record<string, unknown> | undefined;
  /** The REST body of an error, and its status. */
  error: Record<string, unknown> | undefined;
}

/** How a call goes on. */
export interface ToolCallOptions {
  signal?: AbortSignal;
  timeout?: number;
  onprogress?: (progress: { progress: number; message?: string | undefined }) => void;
}

/** An MCP client that is connected. `await using` closes it. */
export interface McpClient extends AsyncDisposable {
  names(): Promise<string[]>;
  tools(): Promise<Record<string, unknown>[]>;
  call(name: string, args?: object, options?: ToolCallOptions): Promise<ToolAnswer>;
  close(): Promise<void>;
}

/** The methods that both clients have. */
type Connected = Pick<ClientV1, "close"> & {
  listTools(): Promise<{ tools: object[] }>;
  callTool: unknown;
};

/** The place of a hosted server, and the key and client for it. */
export interface Hosted {
  url: URL | string;
  key: string;
  version?: McpVersion;
  headers?: Record<string, string>;
  fetch?: typeof fetch;
}

/** Connects to `/mcp` of a gateway, or to a URL of it with a query. */
export async function mcpClient({
  url: base,
  key,
  version = "v2",
  headers = {},
  fetch: send,
}: Hosted): Promise<McpClient> {
  const url = new URL(base);
  if (!url.pathname.endsWith("/mcp")) url.pathname = "/mcp";
  const options = {
    requestInit: { headers: { authorization: `Bearer ${key}`, ...headers } },
    ...(send && { fetch: send as never }),
  };
  if (version === "v1") {
    const client = newV1();
    await client.connect(new HttpV1(url, options) as never);
    return clientOf(client, version);
  }
  const client = newV2();
  await client.connect(new HttpV2(url, options));
  return clientOf(client, version);
}

export const newV1 = (): ClientV1 => new ClientV1({ name: "test", version: "1" });
/** A client that takes the stateless revision where the server speaks it. */
export const newV2 = (): ClientV2 =>
  new ClientV2({ name: "test", version: "1" }, { versionNegotiation: { mode: "auto" } });

/** The same few methods for both clients. */
export function clientOf(client: ClientV1 | ClientV2, version: McpVersion): McpClient {
  const both = client as Connected;
  const ask = both.callTool as (...args: unknown[]) => Promise<unknown>;
  return {
    names: async () => namesOf(await both.listTools()),
    tools: async () => (await both.listTools()).tools as Record<string, unknown>[],
    call: async (name, args = {}, options = {}) => {
      const params = { name, arguments: args };
      // Longer than any test: the server ends a call.
      const how = { timeout: 600_000, ...options };
      const rest = version === "v1" ? [undefined, how] : [how];
      return answerOf(Answer.parse(await ask.call(client, params, ...rest)));
    },
    close: () => both.close(),
    [Symbol.asyncDispose]: () => both.close(),
  };
}

const namesOf = ({ tools }: { tools: object[] }): string[] =>
  tools.map((tool) => ("name" in tool ? String(tool.name) : ""));

function answerOf(answer: z.infer<typeof Answer>): ToolAnswer {
  const { content, structuredContent: structured, isError = false, _meta } = answer;
  const text = content[0]?.text ?? "";
  const json = isError ? {} : z.record(z.string(), z.unknown()).parse(JSON.parse(text));
  return { isError, text, json, content, structured, error: _meta?.["svc/error"] };
}
