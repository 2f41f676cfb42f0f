import { type Refusal, refusal } from "@svc/contract/errors.ts";
import { LIMITS } from "@svc/contract/limits.ts";
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
import type { SandboxState } from "./state.ts";
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
  const answer = await calls.run(
    { idleMs: shortestIdleMs(sandbox.state), budgetMs: body.timeoutMs, gone },
    () => use(live),
    (signal) => execInVm(env, sandbox.place.url, sandbox, body, signal),
  );
  if (answer.type === "ok") return { result: answer.value };
  const after = record.load();
  if (answer.type === "missing")
    return resumable(after, refusal("NotRunning", "The machine has ended."));
  const isPaused = after?.state.status === "paused";
  return (isPaused && notUsable(after)) || (answer.type === "silent" ? silent() : unreachable());
}

/** How long the machine may be left alone before something is done to it: it is parked long before its window ends. */
function shortestIdleMs(state: SandboxState): number {
  if (state.status !== "running") return LIMITS.idleLeastMs;
  return Math.min(state.idleMs, state.habits.parkAfterMs ?? state.idleMs);
}
