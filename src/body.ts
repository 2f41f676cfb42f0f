import { ApiError } from "@svc/contract/errors.ts";
import type * as z from "zod";
import { fromClient } from "./client-gone.ts";
import type { AppContext } from "./context.ts";

/** The body as text, to its end. */
export const textOf = (c: AppContext): Promise<string> => fromClient(c, () => c.req.text());

/** The JSON body, parsed by a schema. An absent body is `{}`; what does not parse is 400 and names its field. */
export async function parseBody<T>(c: AppContext, schema: z.ZodType<T>): Promise<T> {
  return parseFields(await jsonOf(c), schema);
}

/** The same where a body that is JSON but no object is 400 `InvalidJson` (document 2). */
export async function parseObject<T>(c: AppContext, schema: z.ZodType<T>): Promise<T> {
  const json = await jsonOf(c);
  if (typeof json !== "object" || json === null || Array.isArray(json))
    throw new ApiError("InvalidJson", "The body is not a JSON object.");
  return parseFields(json, schema);
}

async function jsonOf(c: AppContext): Promise<unknown> {
  const text = await textOf(c);
  try {
    return text === "" ? {} : JSON.parse(text);
  } catch {
    throw new ApiError("InvalidJson", "The body is not JSON.");
  }
}

/** The body where everything that is not a JSON object means all defaults (document 1, POST /sessions). */
export async function parseOptionalBody<T>(c: AppContext, schema: z.ZodType<T>): Promise<T> {
  return parseFields(objectOf(await textOf(c)), schema);
}

function parseFields<T>(json: unknown, schema: z.ZodType<T>): T {
  const result = schema.safeParse(json);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const field = issue?.path.join(".") ?? "";
  const reason = issue?.message ?? "invalid";
  throw new ApiError("ValidationError", field ? `${field}: ${reason}` : reason, { field });
}

function objectOf(text: string): object {
  try {
    const json: unknown = JSON.parse(text);
    return typeof json === "object" && json !== null && !Array.isArray(json) ? json : {};
  } catch {
    return {};
  }
}
