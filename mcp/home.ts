import type { LogFields } from "@svc/contract/log.ts";
import type { ToolContext } from "./tool.ts";
import type { Turns } from "./turns.ts";

/** What the tools find where they run: in the Worker, or in a process of the customer's own. */
export interface Home extends Pick<ToolContext, "svc" | "WebSocket" | "defaultProfile" | "opened"> {
  turns: Turns;
  /** Aborted when nobody waits for answers any more. Absent where the end of the process is the end of all. */
  gone?: AbortSignal;
  /** Work that goes on to its end although the call has been answered: a cancelled call still gives back its turn, and cleans up. */
  keep?: (work: Promise<unknown>) => void;
  /** Names a call, in the log and in the answer of one that failed unexpectedly. */
  requestId: () => string;
  /** Where errors that nobody expected are told. */
  log: (event: string, fields: LogFields) => void;
}
