import type { Tool as ListedTool } from "@modelcontextprotocol/server";
import * as z from "zod";
import type { Hints, Tool } from "./tool.ts";

const known = new WeakMap<readonly Tool[], ListedTool[]>();

/** The table as `tools/list` answers it, made once. */
export function listOf(tools: readonly Tool[]): ListedTool[] {
  const made = known.get(tools) ?? tools.map(listed);
  known.set(tools, made);
  return made;
}

function listed({ name, title, description, input, output, hints }: Tool): ListedTool {
  return {
    name,
    title,
    description,
    inputSchema: schemaOf(input, "input"),
    ...(output && { outputSchema: schemaOf(output, "output") }),
    annotations: hintsOf(hints),
  };
}

/** The schema of an object, without what says nothing: each character is paid for by every conversation. */
export function schemaOf(
  schema: z.ZodObject,
  io: "input" | "output",
): { type: "object"; [key: string]: unknown } {
  const { $schema: _said, ...rest } = z.toJSONSchema(schema, { io, override: withoutBounds });
  return { ...rest, type: "object" };
}

/** Every integer is one of JavaScript's; an object that is loose need not say so. */
function withoutBounds({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  const { additionalProperties } = jsonSchema;
  const isLoose =
    typeof additionalProperties === "object" && Object.keys(additionalProperties).length === 0;
  if (isLoose && jsonSchema.properties) delete jsonSchema.additionalProperties;
}

const hintsOf = ({ readOnly, destructive, idempotent, openWorld }: Hints) => ({
  readOnlyHint: readOnly === true,
  destructiveHint: destructive === true,
  idempotentHint: idempotent === true,
  openWorldHint: openWorld === true,
});
