import { LIMITS } from "@svc/contract/limits.ts";
import { placeAt } from "../host-calls/place.ts";
import { changeVm } from "../host-calls/vm-states.ts";
import { parkedSince } from "./duties.ts";
import { isPlaced, type LiveSandbox } from "./record.ts";
import type { SandboxEvent } from "./state.ts";
import { useBy } from "./use.ts";

/**
 * Lets the machine's processors stand still until the next request, which wakes them by itself. The host does it only if
 * it knows of no use in `parkAfterMs`; else it says when the machine was in use.
 */
export function park({ env, record, lane }: LiveSandbox): Promise<SandboxEvent[]> {
  return lane.run(async () => {
    const sandbox = record.tick();
    if (!isPlaced(sandbox) || sandbox.state.status !== "running") return [];
    const { parkAfterMs: unusedMs } = sandbox.state.habits;
    if (parkedSince(sandbox.state) === null || unusedMs === null) return [];
    // Callers wait for what is in the lane. A machine that was not parked in time is left running.
    const mostMs = sandbox.parkMaxMs ?? LIMITS.parkMaxMs;
    const { place } = sandbox;
    const answer = await changeVm(env, place.url, sandbox, "park", { unusedMs }, mostMs);
    if (answer.type === "ok") record.note({ place: placeAt(place, answer.value) });
    const inUse = answer.type === "ok" ? null : useBy(answer);
    return inUse ? [inUse] : [];
  });
}
