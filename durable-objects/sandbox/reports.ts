import type { VmReport } from "@svc/contract/host-protocol/vms.ts";
import type { Heard } from "../host.ts";
import type { StoredSandbox } from "./record.ts";
import type { HostSource } from "../session/view.ts";
import type { SandboxEvent } from "./state.ts";

/** The heartbeat that a report stands in. */
export interface Beat extends Heard {
  seq: number;
}

/** What a report says: events, and where the machine is by it. */
interface News {
  events: SandboxEvent[];
  facts: Partial<StoredSandbox>;
}

/** Whether a sandbox is placed where this host speaks from. */
export const isAt = ({ place }: StoredSandbox, { hostId, bootId }: HostSource): boolean =>
  place?.hostId === hostId && place.bootId === bootId;

/** What a host's report means. `end`: it must not hold the machine; `wait`: it is too early to tell. */
export function meaningOf(
  sandbox: StoredSandbox | null,
  beat: Beat,
  vm: VmReport,
): "end" | "wait" | News {
  const status = sandbox?.state.status;
  if (status === "starting") return "wait";
  if (!sandbox?.place || (status !== "running" && status !== "paused")) return "end";
  if (!isAt(sandbox, beat)) return moved(sandbox, beat, vm) ?? adopted(sandbox, beat, vm) ?? "end";
  // Said before it was paused or resumed, and overtaken by the answer to that.
  if (beat.seq < sandbox.place.seq) return "wait";
  return { events: eventsOf(status, beat, vm), facts: recordOf(sandbox, vm) };
}

/** A host that was asked to fetch a paused machine, and whose answer was lost, has it going after all. */
function moved(
  { movingTo, state: { status } }: StoredSandbox,
  { hostId, url, bootId, seq }: Beat,
  vm: VmReport,
): News | "wait" | null {
  if (status !== "paused" || movingTo !== hostId) return null;
  if (vm.state !== "running" || vm.ended) return "wait";
  const place = { hostId, url, bootId, seq };
  return { events: [{ type: "resumed" }], facts: { place, record: null, movingTo: null } };
}

/** A paused machine outlives its host's process: the next start of the host holds it now. */
function adopted(sandbox: StoredSandbox, beat: Beat, vm: VmReport): News | null {
  const { hostId, url, bootId, seq, heardAt } = beat;
  if (sandbox.place?.hostId !== hostId || vm.state !== "paused") return null;
  const facts = { place: { hostId, url, bootId, seq }, ...recordOf(sandbox, vm) };
  return { events: pausedBy(vm, heardAt), facts };
}

/** A host that tells of a record tells which it is by now. */
function recordOf(
  { record: known }: StoredSandbox,
  { recordId: id, durable: isDurable = false }: VmReport,
): Partial<StoredSandbox> {
  if (id === undefined) return {};
  return { record: known?.id === id ? { ...known, isDurable } : { id, isDurable } };
}

function pausedBy({ durable = false }: VmReport, at: number): SandboxEvent[] {
  const paused: SandboxEvent = { type: "paused", at, isDurable: durable };
  // Of one that is known to be paused it is the only news.
  return durable ? [paused, { type: "stored" }] : [paused];
}

function eventsOf(status: "running" | "paused", { heardAt }: Beat, vm: VmReport): SandboxEvent[] {
  const { state, ended, lastActivityAt, durable = false } = vm;
  // A host that reports a machine is back, whoever else has noticed.
  const back: SandboxEvent = { type: "hostBack" };
  if (ended) return [back, { type: "hostEnded" }];
  if (state === "paused") return [back, ...pausedBy(vm, heardAt)];
  // A resume whose answer was lost: it runs, and is not ended for that.
  const resumed: SandboxEvent[] =
    status === "paused" && state === "running" ? [{ type: "resumed" }] : [];
  const stored: SandboxEvent[] = durable ? [{ type: "stored" }] : [];
  return [back, ...resumed, ...stored, { type: "activity", at: lastActivityAt }];
}
