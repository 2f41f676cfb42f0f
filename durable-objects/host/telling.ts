import type { AnyHeartbeat } from "@svc/contract/host-protocol/heartbeat.ts";
import { logOf } from "@svc/contract/log.ts";
import type { HostStart } from "../host-calls/place.ts";
import type { HostCalls } from "./calls.ts";
import type { Beat, HostChange, ReportAnswer } from "./messages.ts";
import { heldBy, type Placed, type Report, type StoredHost } from "./reconcile.ts";

const log = logOf("durable-objects");

/** How the object of a host reaches the sessions and sandboxes on it. */
export interface Telling {
  env: Env;
  calls: HostCalls;
}

/** Tells a session or sandbox what its host reports of it. */
export function tellReport(
  { env, calls }: Telling,
  from: Beat,
  report: Report,
): Promise<ReportAnswer> {
  return calls.ask(report.id, async () =>
    "opens" in report
      ? env.SESSIONS.getByName(report.id).report(from, report)
      : env.SANDBOXES.getByName(report.id).report(from, report),
  );
}

/** Tells some of what was placed on a host what has happened to the host. Answers those that were not told. */
export async function tellChange(
  { env, calls }: Telling,
  { hostId, beat }: StoredHost,
  change: HostChange,
  rows: Placed[],
): Promise<Placed[]> {
  const answers = await Promise.allSettled(
    rows.map(({ id, boot_id: bootId }) => {
      const start: HostStart = { hostId, bootId };
      return calls.ask(id, async () => {
        if (beat.type === "pool") await env.SESSIONS.getByName(id).hostChanged(start, change);
        else await env.SANDBOXES.getByName(id).hostChanged(start, change);
      });
    }),
  );
  logUntold(change.type, answers);
  return rows.filter((_row, at) => answers[at]?.status === "rejected");
}

/** The outcome of telling the reports of a heartbeat. */
export interface Told {
  /** The ids that the host shall end. */
  end: string[];
  /** The ids of which the host shall report again: their objects have not taken the report. */
  again: string[];
}

/**
 * Tells each report of a heartbeat by `tell`, all at once: none waits for the object of another one. An object that fails
 * or hangs has not taken its report.
 */
export async function tellReports(
  beat: AnyHeartbeat,
  tell: (report: Report) => Promise<ReportAnswer>,
): Promise<Told> {
  const reports = heldBy(beat);
  const answers = await Promise.allSettled(reports.map(tell));
  logUntold("report", answers);
  const told: Told = { end: [], again: [] };
  for (const [at, { id, ended }] of reports.entries()) {
    const answer = answers[at];
    if (answer?.status !== "fulfilled") told.again.push(id);
    else if (answer.value === "end") told.end.push(id);
    // A session that is still being created cannot take its end yet.
    else if (answer.value === "wait" && ended !== undefined) told.again.push(id);
  }
  return told;
}

/** Logs one line for all objects that were not told, with the reason of the first. The line names no id: an id opens sockets. */
function logUntold(what: string, answers: PromiseSettledResult<unknown>[]): void {
  const failed = answers.filter((answer) => answer.status === "rejected");
  const [first] = failed;
  if (first) log.warn("objects_not_told", { what, objects: failed.length, reason: first.reason });
}
