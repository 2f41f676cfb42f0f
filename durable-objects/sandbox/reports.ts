import type { VmReport } from "@svc/contract/host-protocol/vms.ts";
import { isAt } from "../host-calls/place.ts";
import type { Beat } from "../host/messages.ts";
import type { StoredSandbox } from "./record.ts";
import type { SandboxEvent } from "./state.ts";

/** What a report means: events, and where the machine is by it. */
interface Meaning {
  events: SandboxEvent[];
  facts: Partial<StoredSandbox>;
}

/** What a host's report means. `end`: it must not hold the machine; `wait`: it is too early to tell. */
export function meaningOf(
  sandbox: StoredSandbox | null,
  beat: Beat,
  vm: VmReport,
): "end" | "wait" | Meaning {
  const status = sandbox?.state.status;
  if (status === "starting") return "wait";
  if (!sandbox?.place || (status !== "running" && status !== "paused")) return "end";
  if (!isAt(sandbox.place, beat))
    return moved(sandbox, beat, vm) ?? adopted(sandbox, beat, vm) ?? "end";
  // The report was made before a pause or resume whose answer has overtaken it.
  if (beat.seq < sandbox.place.seq) return "wait";
  return { events: eventsOf(status, beat, vm), facts: recordOf(sandbox, vm) };
}

/** A host that was asked to resume a paused machine, and whose answer was lost, runs it after all. */
function moved(
  { movingTo, state: { status } }: StoredSandbox,
  { hostId, url, bootId, seq }: Beat,
  vm: VmReport,
): Meaning | "wait" | null {
  if (status !== "paused" || movingTo !== hostId) return null;
  if (vm.state !== "running" || vm.ended) return "wait";
  const place = { hostId, url, bootId, seq };
  return { events: [{ type: "resumed" }], facts: { place, record: null, movingTo: null } };
}

/** A paused machine outlives its host's process: the next start of that host holds it now. */
function adopted(sandbox: StoredSandbox, beat: Beat, vm: VmReport): Meaning | null {
  const { hostId, url, bootId, seq, heardAt } = beat;
  if (sandbox.place?.hostId !== hostId || vm.state !== "paused") return null;
  const facts = { place: { hostId, url, bootId, seq }, ...recordOf(sandbox, vm) };
  return { events: pausedBy(vm, heardAt), facts };
}

/** The record that the host names, which may be another one by now. */
function recordOf(
  { record: known }: StoredSandbox,
  { recordId: id, durable: isDurable = false, sizeBytes }: VmReport,
): Partial<StoredSandbox> {
  if (id === undefined) return {};
  const told = { id, isDurable, ...(sizeBytes !== undefined && { sizeBytes }) };
  return { record: known?.id === id ? { ...known, ...told } : told };
}

function pausedBy({ durable = false }: VmReport, at: number): SandboxEvent[] {
  const paused: SandboxEvent = { type: "paused", at, isDurable: durable };
  // For a sandbox that is known to be paused nothing else is new.
  return durable ? [paused, { type: "stored" }] : [paused];
}

function eventsOf(
  status: "running" | "paused",
  { heardAt, clockMs }: Beat,
  vm: VmReport,
): SandboxEvent[] {
  const { state, ended, lastActivityAt, durable = false, parked: isParked } = vm;
  // A host that reports a machine is back, whoever else has noticed.
  const back: SandboxEvent = { type: "hostBack" };
  if (ended) return [back, { type: "hostEnded" }];
  if (state === "paused") return [back, ...pausedBy(vm, heardAt)];
  // A resume whose answer was lost: the machine runs, and is not ended for that.
  const resumed: SandboxEvent[] =
    status === "paused" && state === "running" ? [{ type: "resumed" }] : [];
  const stored: SandboxEvent[] = durable ? [{ type: "stored" }] : [];
  const at = lastActivityAt + clockMs;
  const used: SandboxEvent = { type: "activity", at, ...(isParked && { isParked }) };
  return [back, ...resumed, ...stored, used];
}
