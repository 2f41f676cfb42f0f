import type { ServerResponse } from "node:http";
import { type WireVersion, wireMismatchBody } from "@svc/contract/browser/wire-versions.ts";
import { PlaceSlot, type SlotRefused, type SlotSeen } from "@svc/contract/host-protocol/slots.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { messageOf } from "@svc/host-kit/log.ts";
import { readJson, replyJson, replyText } from "@svc/host-kit/reply.ts";
import type { SlotCall } from "./call.ts";

/** PUT /slots/:sessionId */
export async function placeSlot(call: SlotCall): Promise<void> {
  const { sessions, served, id, org, request, response } = call;
  const ask = PlaceSlot.safeParse(await readJson(request, LIMITS.hostBodyBytes));
  if (!ask.success) return replyText(response, 400, "Malformed placement\n");
  const { wireVersion } = ask.data;
  const version = wireVersion === undefined ? null : served.find(wireVersion);
  if (wireVersion !== undefined && !version)
    return replyJson(response, 428, wireMismatchBody(wireVersion, served.list));
  const caller = new AbortController();
  response.once("close", () => caller.abort());
  const placed = await sessions.place({ id, org, version }, ask.data, caller.signal);
  if (placed.outcome === "placed") {
    attachEarly(call, version);
    return replyJson(response, 201, placed.placed);
  }
  if (placed.outcome === "none") return refuse(response, 409, { error: placed.error });
  if (placed.outcome === "failed")
    return replyJson(response, placed.fault.answer.status, placed.fault.answer.body);
  refuse(response, 503, { error: "Not served here.", hint: placed.hint });
}

/** Nobody waits: the upgrade that will come finds the Playwright attached, or being attached. */
function attachEarly({ sessions, log, id }: SlotCall, version: WireVersion | null): void {
  const slot = sessions.get(id)?.slot;
  slot?.playwrights.expect(version).catch((error: unknown) => {
    // The session has ended meanwhile.
    if (sessions.get(id)?.slot !== slot) return;
    log.warn({ slot: slot.number, version, reason: messageOf(error) }, "wire_not_attached");
  });
}

/** GET /slots/:sessionId */
export async function seeSlot({ sessions, id, response }: SlotCall): Promise<void> {
  const slot = sessions.report(id);
  if (!slot) return replyText(response, 404, "No such session\n");
  replyJson(response, 200, { bootId: sessions.bootId, slot } satisfies SlotSeen);
}

/** DELETE /slots/:sessionId. Answered before the browser has ended. */
export async function endSlot({ sessions, id, response }: SlotCall): Promise<void> {
  sessions.end(id);
  replyText(response, 204);
}

/** POST /drain */
export async function drain({ sessions, response }: SlotCall): Promise<void> {
  void sessions.drain();
  replyText(response, 202);
}

function refuse(response: ServerResponse, status: 409 | 503, body: SlotRefused): void {
  replyJson(response, status, body);
}
