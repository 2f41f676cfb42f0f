import type { WebSocketClass } from "@svc/sdk/context.ts";
import type { Svc } from "@svc/sdk/svc.ts";
import type * as z from "zod";

/** A piece of a tool's answer that is no JSON: a text, or a picture in base64. */
export type Block =
  | { type: "text"; text: string }
  | { type: "image"; data: string; mimeType: "image/jpeg" | "image/png" };

/** The answer of a tool: facts, and whatever a model reads or looks at beside them. */
export interface ToolResult {
  json: Readonly<Record<string, unknown>>;
  blocks?: readonly Block[];
}

/**
 * Whose turn a call waits for. `session`: calls of one session follow each other, and a session that is with a person
 * refuses them (HandoffActive). `none`: the call neither waits nor is refused.
 */
export type Turn = "session" | "none";

/** The hints of a tool. Clients are told all four of MCP, as a missing one counts as the worst case. */
export interface Hints {
  readOnly?: true;
  destructive?: true;
  idempotent?: true;
  openWorld?: true;
}

/** The means that every tool has at hand. */
export interface ToolContext {
  /** A client of the caller's key. */
  svc: Svc;
  /** Aborted when the client cancels the call, goes away, or the call's time is over. */
  signal: AbortSignal;
  /** The class of sockets for `Cdp.connect`: inside the gateway no socket leaves it. Undefined: the runtime's own class will do. */
  WebSocket: WebSocketClass | undefined;
  /** The lease of browsers that a tool creates, renewed by each call: an idle conversation holds no browser. */
  lease: { idleSeconds: number };
  /** Notes a browser that a tool has created: a local server releases those when it ends. */
  opened: (sessionId: string) => void;
  /** The profile of browsers that name none, and where it was set. */
  defaultProfile?: { name: string; origin: "header" | "query" | "env" } | undefined;
  /** Says how far a long call is. */
  progress: (message: string) => void;
}

/** A tool: one entry of the table, and one file. */
export interface Tool<Input extends z.ZodObject = z.ZodObject> {
  name: `svc_${string}`;
  title: string;
  description: string;
  /** `z.strictObject` of flat values: clients and models know no more. */
  input: Input;
  /** `z.looseObject`, of tools that answer structured content ("S" in docs/TOOLS.md). The others answer content alone. */
  output?: z.ZodObject;
  hints: Hints;
  turn: Turn;
  /**
   * How long a call may take beside what its `timeoutSeconds` and `waitSeconds` ask for. Unless said 55 s, as clients give up
   * after 60, and 185 s where no turn is held meanwhile: a browser or a machine may be waited for.
   */
  patienceMs?: number;
  run(args: z.output<Input>, context: ToolContext): Promise<ToolResult>;
}

/** Whether a tool works on browsers, by its name; all others work on sandboxes and desktops. */
export const isOfBrowsers = ({ name }: Pick<Tool, "name">): boolean =>
  name.startsWith("svc_browser_");

/** Types a tool's `run` by its input. */
export const defineTool = <Input extends z.ZodObject>(tool: Tool<Input>): Tool<Input> => tool;

/** A refusal of a tool's own: its code (`ElementNotFound`), and a text that says the reason and what to do next. */
export class ToolError extends Error {
  override name = "ToolError";
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}
