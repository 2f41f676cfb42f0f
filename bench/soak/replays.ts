import { LIMITS } from "@svc/contract/limits.ts";
import { replayOf } from "../recording/replay.ts";
import type { Customer } from "../service/customer.ts";
import type { SoakRecord } from "./record.ts";

const END = /"tag":"svc\.(end|cut)"/;

/** How many of the sessions that were created, all of which have ended, have no replay, or one that does not come to its end. */
export async function missingReplays(
  customer: Customer,
  record: SoakRecord,
): Promise<Record<string, number>> {
  let missing = 0;
  let broken = 0;
  for (const id of record.created) {
    const text = await replayOf(customer, id, performance.now() + LIMITS.replayReadyMs).catch(
      () => "",
    );
    const end = text === null ? null : END.exec(text.slice(text.trimEnd().lastIndexOf("\n")));
    if (text === null) missing += 1;
    else if (!end) broken += 1;
    else
      record.count(end[1] === "cut" ? "replays that say they were cut" : "replays that are whole");
  }
  return { "replays missing": missing, "replays without an end": broken };
}
