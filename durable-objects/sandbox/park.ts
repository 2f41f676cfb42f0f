import { LIMITS } from "@svc/contract/limits.ts";
import { changeVm } from "../host-calls/vm-states.ts";
import { parkedSince } from "./duties.ts";
import type { LiveSandbox } from "./record.ts";

/** Lets the machine's processors stand still until the next request, which wakes them by itself. */
export function park({ env, record, lane }: LiveSandbox): Promise<void> {
  return lane.run(async () => {
    const sandbox = record.tick();
    if (!sandbox?.place || parkedSince(sandbox.state) === null) return;
    // Callers wait for what is in the lane. A machine that was not parked in time is left running.
    const mostMs = sandbox.parkMaxMs ?? LIMITS.parkMaxMs;
    await changeVm(env, sandbox.place.url, sandbox, "park", undefined, mostMs);
  });
}
