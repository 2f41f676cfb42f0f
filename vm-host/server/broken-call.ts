import type { ServerResponse } from "node:http";
import { isRefused } from "@svc/contract/control-channel/refusals.ts";
import type { GuestRefused } from "@svc/contract/host-protocol/files.ts";
import { replyJson, replyText } from "@svc/host-kit/reply.ts";
import type { Ending } from "../machines/ending.ts";

/** Tells which machines are paused here. */
export type Absentees = { pausedRecordOf(id: string): object | undefined };

interface AbsentCall {
  store: Absentees;
  id: string;
  response: ServerResponse;
}

/** Answers a call for a machine that is not here: paused, so that nothing of the call was done, or unknown. */
export function replyAbsent({ store, id, response }: AbsentCall): void {
  if (!store.pausedRecordOf(id)) return replyText(response, 404, "No such machine\n");
  const body: GuestRefused = { error: "The sandbox is paused.", code: "Paused" };
  replyJson(response, 409, body);
}

/** Answers a call that broke off because its machine was paused. False when the call failed for another reason. */
export async function replyPaused(
  response: ServerResponse,
  vm: { ending(): Promise<Ending | null> },
  error: unknown,
): Promise<boolean> {
  const ending = isRefused(error, "Disconnected") ? await vm.ending() : null;
  if (ending?.state !== "paused" || response.headersSent) return false;
  const body: GuestRefused = { error: "The sandbox was paused meanwhile.", code: "Interrupted" };
  replyJson(response, 409, body);
  return true;
}
