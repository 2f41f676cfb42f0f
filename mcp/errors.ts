import { ERRORS } from "@svc/contract/errors.ts";
import {
  ApiError,
  ConnectionError,
  ControlError,
  SvcError,
  TimeoutError,
} from "@svc/sdk/errors.ts";
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Home } from "./home.ts";
import { nextStep } from "./next-step.ts";
import type { Told } from "./told.ts";
import { type Tool, ToolError } from "./tool.ts";

/** Longest text of an error: clients cut longer ones, or write them to files. */
const TEXT_CHARACTERS = 4_000;

/** The result of a call that failed: its code, the reason and the next step. */
export function refusalOf(error: unknown, tool: Tool, home: Home): CallToolResult {
  const told = toldOf(error) ?? unexpected(error, tool, home);
  const text = `${told.code}: ${[sentence(told.reason), nextStep(told, tool)].filter(Boolean).join(" ")}`;
  return {
    content: [{ type: "text", text: text.slice(0, TEXT_CHARACTERS) }],
    isError: true,
    _meta: { "svc/error": { ...told.body, status: told.status } },
  };
}

/** An error as a client is told of it; null of one that nobody expects. */
function toldOf(error: unknown): Told | null {
  if (error instanceof ApiError) return ofGateway(error);
  if (error instanceof ToolError) return own(error.code, error.message);
  if (error instanceof ControlError) {
    const { code, message, retryable, field } = error;
    return own(code, message, { ...(retryable && { retryable }), ...(field && { field }) });
  }
  if (error instanceof TimeoutError) return own("Timeout", error.message);
  if (error instanceof ConnectionError)
    return own("ConnectionFailed", error.message, { retryable: true });
  // An error of the sdk's own says what is wrong.
  if (error instanceof SvcError) return own(error.name, error.message);
  return null;
}

function ofGateway({ code, status, body, message }: ApiError): Told {
  const reason = [body.error ?? message, body.hint].filter(Boolean).join(" ");
  return { code: code ?? NAMES[status] ?? `Http${status}`, reason, body: { ...body }, status };
}

/** Codes of answers that have none on the wire. */
const NAMES: Readonly<Record<number, string>> = { 401: "Unauthorized" };

const STATUS: Readonly<Record<string, number>> = { Timeout: 504, ConnectionFailed: 502 };

function own(code: string, reason: string, more: object = {}): Told {
  const known = Object.hasOwn(ERRORS, code) ? ERRORS[code as keyof typeof ERRORS].status : 400;
  const status = STATUS[code] ?? known;
  return { code, reason, body: { error: reason, code, ...more }, status };
}

function unexpected(error: unknown, tool: Tool, { log, requestId }: Home): Told {
  const id = requestId();
  const reason = error instanceof Error ? (error.stack ?? error) : error;
  log("tool_failed", { requestId: id, tool: tool.name, reason });
  return own("InternalError", `Something went wrong (${id})`);
}

const sentence = (text: string): string => (/[.!?]$/.test(text.trim()) ? text : `${text}.`);
