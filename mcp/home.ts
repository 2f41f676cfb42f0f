import type { LogFields } from "@svc/contract/log.ts";
import type { ToolContext } from "./tool.ts";
import type { Turns } from "./turns.ts";

/** What the tools find where they run: in the Worker, or in a process of the customer's own. */
export interface Home extends Pick<ToolContext, "svc" | "WebSocket" | "defaultProfile" | "opened"> {
  turns: Turns;
  /** Names a call, in the log and in the answer of one that failed unexpectedly. */
  requestId: () => string;
  /** Where errors that nobody expected are told. */
  log: (event: string, fields: LogFields) => void;
}
