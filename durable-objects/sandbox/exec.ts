import { type Refusal, refusal } from "@svc/contract/errors.ts";
import type { Exec, ExecResult } from "@svc/contract/vm/exec.ts";
import { execInVm } from "../host-calls/vms.ts";
import { isPlaced, type LiveSandbox } from "./record.ts";
import {
  noSandbox,
  notUsable,
  resumable,
  type ResumeFirst,
  silent,
  unreachable,
} from "./refusals.ts";
import { use } from "./use.ts";

/** Runs a command to its end. `gone`: aborted when nobody waits for the answer any more, which ends the command. */
export async function exec(
  live: LiveSandbox,
  body: Exec,
  gone: AbortSignal,
): Promise<{ result: ExecResult } | Refusal | ResumeFirst> {
  const { env, record, lane, calls } = live;
  // A command that comes while the sandbox is being paused finds it paused.
  await lane.settled();
  const sandbox = use(live);
  const refused = notUsable(sandbox);
  if (refused || !isPlaced(sandbox)) return refused ?? noSandbox();
  const answer = await calls.run({ budgetMs: body.timeoutMs, gone }, (signal) =>
    execInVm(env, sandbox.place.url, sandbox, body, signal),
  );
  use(live);
  if (answer.type === "ok") return { result: answer.value };
  const after = record.load();
  if (answer.type === "missing")
    return resumable(after, refusal("NotRunning", "The machine has ended."));
  const isPaused = after?.state.status === "paused";
  return (isPaused && notUsable(after)) || (answer.type === "silent" ? silent() : unreachable());
}
