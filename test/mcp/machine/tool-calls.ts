import { machineTools } from "@svc/mcp/tools/machine/index.ts";
import type { Block, ToolContext } from "@svc/mcp/tool.ts";
import type { McpClient } from "../../support/mcp-client.ts";
import type { Svc } from "@svc/sdk/index.ts";

/** An answer of a tool, as JSON has it. */
export interface Told {
  // oxlint-disable-next-line no-explicit-any
  json: any;
  blocks: readonly Block[];
}

/** Calls tools by name with a client of a key: what is given is judged by the tool's schema, and so is its answer. */
export const callerOf =
  (svc: Svc) =>
  async (
    name: string,
    given: object = {},
    signal: AbortSignal = new AbortController().signal,
  ): Promise<Told> => {
    const tool = machineTools.find((one) => one.name === name);
    if (!tool) throw new Error(`there is no tool ${name}`);
    const context = { svc, signal, progress: () => {} } satisfies Partial<ToolContext>;
    const result = await tool.run(tool.input.parse(given), context as unknown as ToolContext);
    tool.output?.parse(result.json);
    return { json: JSON.parse(JSON.stringify(result.json)), blocks: result.blocks ?? [] };
  };

export type Call = ReturnType<typeof callerOf>;

/** Calls tools of a server over MCP; a result that is an error is thrown. */
export const hostedCallerOf =
  (client: McpClient): Call =>
  async (name, given, signal) => {
    const told = await client.call(name, given, signal && { signal });
    const { code, status } = told.error ?? {};
    if (told.isError) throw Object.assign(new Error(told.text), { code, status });
    return { json: told.json, blocks: told.content.slice(1) as unknown as Block[] };
  };

/** The text of an answer's only block. */
export function textOf({ blocks }: Told): string {
  const [block, ...others] = blocks;
  if (block?.type !== "text" || others.length > 0) throw new Error("the answer has no one text");
  return block.text;
}

/** The file of an answer's only picture. */
export function pictureOf({ blocks }: Told): { bytes: Buffer; mimeType: string } {
  const [block, ...others] = blocks;
  if (block?.type !== "image" || others.length > 0)
    throw new Error("the answer has no one picture");
  return { bytes: Buffer.from(block.data, "base64"), mimeType: block.mimeType };
}
