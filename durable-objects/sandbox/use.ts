import { LIMITS } from "@svc/contract/limits.ts";
import type { LiveSandbox, StoredSandbox } from "./record.ts";

/** Notes a use of the machine: its idle window begins anew. */
export const use = ({ record }: LiveSandbox): StoredSandbox | null =>
  record.apply({ type: "activity", at: Date.now() });

/** The same for a use that may come many times a second: noted when it moves the deadline by enough to matter. */
export function useOften(live: LiveSandbox): StoredSandbox | null {
  const sandbox = live.record.tick();
  if (sandbox?.state.status !== "running") return sandbox;
  const { expiresAt, idleMs } = sandbox.state;
  const stepMs = Math.min(idleMs / 4, LIMITS.idleLeastMs);
  return Date.now() - (expiresAt - idleMs) < stepMs ? sandbox : use(live);
}
