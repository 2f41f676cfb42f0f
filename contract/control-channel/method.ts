import type { MethodShape } from "./rpc-client.ts";
import type { Method, RequestContext } from "./rpc-server.ts";
import type * as z from "zod";

/** A method of the contract with its handler: parameters are checked before it sees them. */
export function method<Shape extends MethodShape>(
  shape: Shape,
  handle: (
    params: z.output<Shape["params"]>,
    context: RequestContext,
  ) => Promise<z.output<Shape["result"]>>,
  { keepsTime = false } = {},
): Method {
  return {
    keepsTime,
    run: async (params, context) => handle(parse<Shape["params"]>(shape.params, params), context),
  };
}

function parse<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  return schema.parse(value);
}
