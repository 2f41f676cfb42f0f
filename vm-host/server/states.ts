import type { ServerResponse } from "node:http";
import { ResumeVm, RevertVm, TakeSnapshot } from "@svc/contract/host-protocol/vm-states.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { readJson, replyJson, replyText } from "@svc/host-kit/reply.ts";
import { StateError } from "../states/state-error.ts";
import type { VmCall } from "./front.ts";

/** POST /vms/:sandboxId/pause. Answered when RAM and disk are saved and the process is gone. */
export async function pauseVm({ states, id, response }: VmCall): Promise<void> {
  await reply(response, 200, () => states.pause(id));
}

/** POST /vms/:sandboxId/resume. Answered when it knows who it is and what time it is. */
export async function resumeVm({ states, id, org, request, response }: VmCall): Promise<void> {
  const body = ResumeVm.safeParse((await readJson(request, LIMITS.hostBodyBytes)) ?? {});
  if (!body.success) return replyText(response, 400, "Malformed resume\n");
  await reply(response, 200, () => states.resume(id, org, body.data.recordId));
}

/** POST /vms/:sandboxId/checkpoint. It goes on; what is left of it if the host dies is on the disk. */
export async function checkpointVm({ states, id, response }: VmCall): Promise<void> {
  await reply(response, 200, () => states.checkpoint(id));
}

/** POST /vms/:sandboxId/park */
export async function parkVm({ states, id, response }: VmCall): Promise<void> {
  await reply(response, 200, () => states.park(id));
}

/** POST /vms/:sandboxId/snapshot */
export async function takeSnapshot({ states, id, request, response }: VmCall): Promise<void> {
  const body = TakeSnapshot.safeParse(await readJson(request, LIMITS.hostBodyBytes));
  if (!body.success) return replyText(response, 400, "Malformed snapshot\n");
  await reply(response, 201, () => states.snapshot(id, body.data.snapshotId));
}

/** POST /vms/:sandboxId/revert */
export async function revertVm({ states, id, org, request, response }: VmCall): Promise<void> {
  const body = RevertVm.safeParse(await readJson(request, LIMITS.hostBodyBytes));
  if (!body.success) return replyText(response, 400, "Malformed revert\n");
  await reply(response, 200, () => states.revert(id, org, body.data.snapshotId));
}

/** DELETE /snapshots/:snapshotId. Machines that came from it go on. */
export async function removeSnapshot({ states, id, org, response }: VmCall): Promise<void> {
  await states.removeSnapshot(id, org);
  replyText(response, 204);
}

async function reply(response: ServerResponse, status: number, act: () => Promise<object>) {
  try {
    replyJson(response, status, await act());
  } catch (error) {
    if (!(error instanceof StateError)) throw error;
    replyJson(response, error.status, error.body);
  }
}
