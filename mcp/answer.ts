import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Tool, ToolResult } from "./tool.ts";

/** Longest picture of an answer, in base64: clients cut or refuse more. */
export const PICTURE_BASE64 = 700_000;

/**
 * A result on the wire. Its first block is the JSON. Only tools with an output schema have the same as structured content:
 * several clients give a model that instead of all blocks.
 */
export function answerOf(tool: Tool, { json, blocks = [] }: ToolResult): CallToolResult {
  const first = { type: "text" as const, text: JSON.stringify(json) };
  return {
    content: [first, ...blocks],
    ...(tool.output && { structuredContent: { ...json } }),
  };
}
