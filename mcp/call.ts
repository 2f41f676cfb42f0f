import { LONG_MS } from "@svc/sdk/http/client.ts";
import { within } from "@svc/sdk/http/deadline.ts";
import type { CallToolResult } from "@modelcontextprotocol/server";
import { answerOf } from "./answer.ts";
import { refusalOf } from "./errors.ts";
import type { Home } from "./home.ts";
import { readArguments } from "./input.ts";
import { isOfBrowsers, type Tool, type ToolResult } from "./tool.ts";

/** Time of a usual call: below the 60 s after which clients give up. */
const PATIENCE_MS = 55_000;
/** Longer than the sdk's own deadline, whose error says why. */
const LONG_PATIENCE_MS = LONG_MS + 5_000;
const SECOND_MS = 1000;

/** Idle time after which a conversation loses its browsers. */
const LEASE = { idleSeconds: 600 };

/** The client's side of a call. */
export interface Caller {
  /** Aborted when the client cancels the call, or has gone. */
  signal: AbortSignal;
  progress: (message: string) => void;
}

/** Runs a tool, and tells its result or its error. */
export async function call(
  tool: Tool,
  given: unknown,
  home: Home,
  caller: Caller,
): Promise<CallToolResult> {
  try {
    const args = readArguments(tool, given);
    return answerOf(tool, await inTime(tool, args, home, caller));
  } catch (error) {
    return refusalOf(error, tool, home);
  }
}

/** Runs a tool within its time. */
function inTime(
  tool: Tool,
  args: Record<string, unknown>,
  home: Home,
  caller: Caller,
): Promise<ToolResult> {
  const ms = patienceMs(tool) + askedMs(args);
  const signal = home.gone ? AbortSignal.any([caller.signal, home.gone]) : caller.signal;
  return within({ signal, timeoutMs: ms }, (limits) => {
    const work = inTurn(tool, args, home, { ...caller, signal: limits.signal, lastsMs: ms });
    home.keep?.(work.catch(() => {}));
    return work;
  });
}

/** Runs a tool in its turn, which lasts as long as the call may. */
async function inTurn(
  tool: Tool,
  args: Record<string, unknown>,
  home: Home,
  { signal, progress, lastsMs }: Caller & { lastsMs: number },
): Promise<ToolResult> {
  const { svc, WebSocket, defaultProfile, opened } = home;
  const context = { svc, WebSocket, defaultProfile, opened, progress, lease: LEASE, signal };
  const { sessionId: id } = args;
  if (tool.turn === "none" || typeof id !== "string") return tool.run(args, context);
  const kind = isOfBrowsers(tool) ? "browser" : "machine";
  const end = await home.turns.take({ kind, id }, { lastsMs, signal });
  try {
    return await tool.run(args, context);
  } finally {
    end();
  }
}

const patienceMs = (tool: Tool): number =>
  tool.patienceMs ?? (tool.turn === "none" ? LONG_PATIENCE_MS : PATIENCE_MS);

/** The time that the arguments ask for themselves. */
function askedMs({ timeoutSeconds = 0, waitSeconds = 0 }: Record<string, unknown>): number {
  return (Number(timeoutSeconds) + Number(waitSeconds)) * SECOND_MS;
}
