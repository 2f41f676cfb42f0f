import type * as z from "zod";
import { type Tool, ToolError } from "./tool.ts";

/** The arguments of a call, with their defaults; an error names each that is wrong, and what is expected. */
export function readArguments(tool: Tool, given: unknown): Record<string, unknown> {
  const read = tool.input.safeParse(given ?? {});
  if (read.success) return read.data;
  const faults = read.error.issues.flatMap((issue) => faultsOf(issue, tool, given));
  throw new ToolError("ValidationError", `${faults.join("; ")}.`);
}

function faultsOf(issue: z.core.$ZodIssue, tool: Tool, given: unknown): string[] {
  const path = issue.path.join(".");
  if (issue.code === "unrecognized_keys" && path === "") {
    const known = Object.keys(tool.input.shape).join(", ") || "no arguments";
    return issue.keys.map((key) => `${key}: is no argument of ${tool.name}, which takes ${known}`);
  }
  const isMissing = issue.code === "invalid_type" && valueAt(given, issue.path) === undefined;
  if (isMissing) return [`${path || "arguments"}: is missing, expected ${issue.expected}`];
  const message = issue.message.replace(/^Invalid (input|option): /, "");
  return [path ? `${path}: ${message}` : message];
}

function valueAt(given: unknown, path: readonly PropertyKey[]): unknown {
  let value = given;
  for (const key of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}
