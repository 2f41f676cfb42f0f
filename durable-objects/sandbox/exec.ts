import { type Refusal, refusal } from "@svc/contract/errors.ts";
import type { Exec, ExecResult } from "@svc/contract/vm/exec.ts";
import { execInVm } from "../host-calls/vms.ts";
import { isPlaced, type LiveSandbox } from "./record.ts";
import {
  interrupted,
  noSandbox,
  notUsable,
  paused,
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
  // A pause that is under way is known here once its host has answered it.
  await lane.settled();
  const after = record.load();
  if (answer.type === "missing")
    return resumable(after, refusal("NotRunning", "The machine has ended."));
  if (answer.type === "paused") return resumable(after, paused());
  // A command that had begun is not run a second time after a resume: the customer decides.
  if (answer.type === "interrupted" || after?.state.status === "paused") return interrupted();
  return answer.type === "silent" ? silent() : unreachable();
}
