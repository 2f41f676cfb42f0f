import type { IncomingMessage, ServerResponse } from "node:http";
import { isWireVersion, wireMismatch } from "@svc/contract/browser/wire-versions.ts";
import { PlaceSlot, type SlotRefused } from "@svc/contract/host-protocol/slots.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { readJson, replyJson, replyText } from "@svc/host-kit/reply.ts";
import type { Pool } from "../pool.ts";

export interface SlotCall {
  pool: Pool;
  id: string;
  request: IncomingMessage;
  response: ServerResponse;
}

/** PUT /slots/:sessionId */
export async function placeSlot({ pool, id, request, response }: SlotCall): Promise<void> {
  const ask = PlaceSlot.safeParse(await readJson(request, LIMITS.hostBodyBytes));
  if (!ask.success) return replyText(response, 400, "Malformed placement\n");
  const { wireVersion } = ask.data;
  if (wireVersion !== undefined && !isWireVersion(wireVersion))
    return replyText(response, 428, wireMismatch(wireVersion));
  const caller = new AbortController();
  response.once("close", () => caller.abort());
  const placed = await pool.place(id, ask.data, caller.signal);
  if (placed.outcome === "placed") return replyJson(response, 201, placed.placed);
  if (placed.outcome === "none") return refuse(response, 409, { error: placed.error });
  refuse(response, 503, { error: "Not served here.", hint: placed.hint });
}

/** DELETE /slots/:sessionId. Answered before the browser has ended. */
export async function endSlot({ pool, id, response }: SlotCall): Promise<void> {
  pool.end(id);
  replyText(response, 204);
}

/** POST /drain */
export async function drain({ pool, response }: SlotCall): Promise<void> {
  void pool.drain();
  replyText(response, 202);
}

function refuse(response: ServerResponse, status: 409 | 503, body: SlotRefused): void {
  replyJson(response, status, body);
}
