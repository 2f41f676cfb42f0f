import type { Place } from "../host-calls/place.ts";

/** The heartbeat that a report stands in: where it comes from, and when the host was heard before. */
export interface Beat extends Place {
  heardAt: number;
  /** Added to a time of the host's clock, this many ms make a time of the gateway's clock. */
  clockMs: number;
}

/** What a session or sandbox makes of a report. `end`: the host must not hold it; `wait`: report it again. */
export type ReportAnswer = "keep" | "wait" | "end";

/** What happened to the host of a session or sandbox, and when that was last heard. */
export interface HostChange {
  type: "hostAway" | "hostBack" | "hostLost";
  seenAt: number;
}
