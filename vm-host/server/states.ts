import type { ServerResponse } from "node:http";
import {
  EndVm,
  RestVm,
  ResumeVm,
  RevertVm,
  type StateRefused,
  TakeSnapshot,
} from "@svc/contract/host-protocol/vm-states.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { readJson, replyJson, replyText } from "@svc/host-kit/reply.ts";
import { StateError } from "../machines/state-error.ts";
import { type VmStates, pausedOf } from "../states/states.ts";
import { NOT_READY, type VmCall } from "./call.ts";

/** POST /vms/:sandboxId/pause. Answered when RAM and disk are saved and the process is gone. */
export async function pauseVm(call: VmCall): Promise<void> {
  const { readiness, vms, store, id, request, response } = call;
  const body = RestVm.safeParse((await readJson(request, LIMITS.hostBodyBytes)) ?? {});
  if (!body.success) return replyText(response, 400, "Malformed pause\n");
  const { unusedMs } = body.data;
  await reply(response, 200, async () => {
    const record = store.pausedRecordOf(id);
    // While no machine can be made none runs: a machine is paused already, or is not here.
    if (!readiness.machinery && record) return { ...pausedOf(record), tookMs: 0, ...vms.stamp() };
    return statesOf(call, "NotRunning").pause(id, unusedMs);
  });
}

/** POST /vms/:sandboxId/resume. Answered when the guest knows who it is and what time it is. */
export async function resumeVm(call: VmCall): Promise<void> {
  const { id, org, request, response } = call;
  const body = ResumeVm.safeParse((await readJson(request, LIMITS.hostBodyBytes)) ?? {});
  if (!body.success) return replyText(response, 400, "Malformed resume\n");
  const { recordId } = body.data;
  await reply(response, 200, async () =>
    statesOf(call, recordId === undefined ? "NotPaused" : null).resume(id, org, recordId),
  );
}

/** POST /vms/:sandboxId/checkpoint. The machine goes on; the record is what is left of it if the host dies. */
export async function checkpointVm(call: VmCall): Promise<void> {
  const { id, response } = call;
  await reply(response, 200, async () => statesOf(call, "NotRunning").checkpoint(id));
}

/** POST /vms/:sandboxId/park */
export async function parkVm(call: VmCall): Promise<void> {
  const { id, request, response } = call;
  const body = RestVm.safeParse((await readJson(request, LIMITS.hostBodyBytes)) ?? {});
  if (!body.success) return replyText(response, 400, "Malformed park\n");
  const { unusedMs } = body.data;
  await reply(response, 200, async () => statesOf(call, "NotRunning").park(id, unusedMs));
}

/** POST /vms/:sandboxId/end. A machine that is in use goes on. */
export async function endUnusedVm(call: VmCall): Promise<void> {
  const { id, request, response } = call;
  const body = EndVm.safeParse(await readJson(request, LIMITS.hostBodyBytes));
  if (!body.success) return replyText(response, 400, "Malformed end\n");
  const { unusedMs } = body.data;
  await reply(response, 200, async () => statesOf(call, "NotRunning").endUnused(id, unusedMs));
}

/** POST /vms/:sandboxId/snapshot */
export async function takeSnapshot(call: VmCall): Promise<void> {
  const { id, request, response } = call;
  const body = TakeSnapshot.safeParse(await readJson(request, LIMITS.hostBodyBytes));
  if (!body.success) return replyText(response, 400, "Malformed snapshot\n");
  const { snapshotId } = body.data;
  await reply(response, 201, async () => statesOf(call, "NotRunning").snapshot(id, snapshotId));
}

/** POST /vms/:sandboxId/revert */
export async function revertVm(call: VmCall): Promise<void> {
  const { id, org, request, response } = call;
  const body = RevertVm.safeParse(await readJson(request, LIMITS.hostBodyBytes));
  if (!body.success) return replyText(response, 400, "Malformed revert\n");
  const { snapshotId } = body.data;
  await reply(response, 200, async () => statesOf(call, "NotRunning").revert(id, org, snapshotId));
}

/** DELETE /snapshots/:snapshotId. Machines that came from it go on. */
export async function removeSnapshot({ store, id, org, response }: VmCall): Promise<void> {
  await store.removeSnapshot(id, org);
  replyText(response, 204);
}

/** What changes states. While no machine can be made: 503 for a machine that is paused here, else 404 with the code, if any. */
function statesOf(
  { readiness, store, id }: VmCall,
  absent: Extract<StateRefused["code"], "NotRunning" | "NotPaused"> | null,
): VmStates {
  if (readiness.machinery) return readiness.machinery.states;
  if (absent !== null && !store.pausedRecordOf(id))
    throw new StateError(404, absent, "There is no such machine here.");
  throw new StateError(503, "NoCapacity", NOT_READY);
}

async function reply(response: ServerResponse, status: number, change: () => Promise<object>) {
  try {
    replyJson(response, status, await change());
  } catch (error) {
    if (!(error instanceof StateError)) throw error;
    replyJson(response, error.status, error.body);
  }
}
