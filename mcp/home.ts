import type { LogFields } from "@svc/contract/log.ts";
import type { ToolContext } from "./tool.ts";
import type { Turns } from "./turns.ts";

/** The surroundings of the tools: the Worker, or a process of the customer's own. */
export interface Home extends Pick<ToolContext, "svc" | "WebSocket" | "defaultProfile" | "opened"> {
  turns: Turns;
  /** Aborted when nobody waits for answers any more. Absent where the end of the process is the end of all. */
  gone?: AbortSignal;
  /** Keeps work going to its end although the call has been answered: a cancelled call still gives back its turn, and cleans up. */
  keep?: (work: Promise<unknown>) => void;
  /** Names a call, in the log and in the answer of one that failed unexpectedly. */
  requestId: () => string;
  /** Writes errors that nobody expected to the log. */
  log: (event: string, fields: LogFields) => void;
}
