import type { Refusal } from "@svc/contract/errors.ts";
import type { VmMetrics } from "@svc/contract/vm/metrics.ts";
import { metricsOfVm } from "../host-calls/vms.ts";
import { isPlaced, type LiveSandbox } from "./record.ts";
import { noSandbox, notRunning, unreachable } from "./refusals.ts";

/** Reads the metrics of the machine. It is no use of it. */
export async function metrics({
  env,
  record,
}: LiveSandbox): Promise<{ metrics: VmMetrics } | Refusal> {
  const sandbox = record.tick();
  // A host that is away knows nothing of it: the document says 404.
  if (!isPlaced(sandbox) || notRunning(sandbox)) return noSandbox();
  const answer = await metricsOfVm(env, sandbox.place.url, sandbox);
  if (answer.type === "ok") return { metrics: answer.value };
  return answer.type === "failed" ? unreachable() : noSandbox();
}
