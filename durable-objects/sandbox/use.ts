import { LIMITS } from "@svc/contract/limits.ts";
import type { SandboxEvent } from "./state.ts";
import type { LiveSandbox, StoredSandbox } from "./record.ts";
import type { NotChanged } from "../host-calls/vm-states.ts";

/** Notes that somebody asked for the record of the machine: its idle window begins anew, and it is not woken. */
export const look = ({ record }: LiveSandbox): StoredSandbox | null =>
  record.apply({ type: "looked" });

/** Notes a request that goes to the machine. How long the machine is at it, its host says. */
export const use = ({ record }: LiveSandbox): StoredSandbox | null =>
  record.apply({ type: "called" });

/** The same for a use that may come many times a second: noted when it moves the deadline by enough to matter. */
export function useOften(live: LiveSandbox): StoredSandbox | null {
  const sandbox = live.record.tick();
  if (sandbox?.state.status !== "running") return sandbox;
  const { expiresAt, idleMs, parkedAt } = sandbox.state;
  const stepMs = Math.min(idleMs / 4, LIMITS.idleLeastMs);
  const isFresh = Date.now() - (expiresAt - idleMs) < stepMs;
  return isFresh && parkedAt === null ? sandbox : use(live);
}

/** The last use of a machine, from the answer of a host that refused to rest a machine in use; null for every other answer. */
export function useBy(answer: NotChanged): SandboxEvent | null {
  if (answer.type === "unreachable" || answer.refused.code !== "Busy") return null;
  const { unusedMs = 0 } = answer.refused;
  return { type: "activity", at: Date.now() - unusedMs };
}
