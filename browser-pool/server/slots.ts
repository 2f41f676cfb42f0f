import type { ServerResponse } from "node:http";
import { type WireVersion, wireMismatchBody } from "@svc/contract/browser/wire-versions.ts";
import {
  SlotDomains,
  SlotHandoff,
  type SlotRefused,
  type SlotSeen,
  UNKNOWN_WISH,
} from "@svc/contract/host-protocol/slots.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { messageOf } from "@svc/host-kit/log.ts";
import { readJson, replyJson, replyText } from "@svc/host-kit/reply.ts";
import { readAsk } from "../sessions/wishes.ts";
import type { SlotCall } from "./call.ts";

const UNCONFINED = "This session was placed without allowed domains.";

/** PUT /slots/:sessionId */
export async function placeSlot(call: SlotCall): Promise<void> {
  const { sessions, served, id, org, request, response } = call;
  const read = readAsk(await readJson(request, LIMITS.hostBodyBytes), sessions.keptWishes);
  if (read === "malformed") return replyText(response, 400, "Malformed placement\n");
  if ("unkept" in read) return refuse(response, 501, unkeptBody(read.unkept));
  const { ask } = read;
  const { wireVersion } = ask;
  const version = wireVersion === undefined ? null : served.find(wireVersion);
  if (wireVersion !== undefined && !version)
    return replyJson(response, 428, wireMismatchBody(wireVersion, served.list));
  const caller = new AbortController();
  response.once("close", () => caller.abort());
  const placed = await sessions.place({ id, org, version }, ask, caller.signal);
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
  // Pages see an attached Playwright, and the clients of a stealth browser may all be of /cdp.
  const work = slot?.kind === "stealth" ? "prepare" : "expect";
  slot?.playwrights[work](version).catch((error: unknown) => {
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

/** POST /slots/:sessionId/allowed-domains. In force when it is answered. */
export async function setSlotDomains({ sessions, log, id, request, response }: SlotCall) {
  const read = SlotDomains.safeParse(await readJson(request, LIMITS.hostBodyBytes));
  if (!read.success) return replyText(response, 400, "Malformed domains\n");
  const session = sessions.get(id);
  if (!session) return replyText(response, 404, "No such session\n");
  if (!session.isConfined) return refuse(response, 409, { error: UNCONFINED });
  const { domains } = read.data;
  session.slot.confine(domains);
  log.info({ slot: session.slot.number, domains: domains.length }, "domains_replaced");
  replyJson(response, 200, { ok: true });
}

/** POST /slots/:sessionId/handoff. In force when it is answered. */
export async function handOff({ sessions, log, id, request, response }: SlotCall) {
  const read = SlotHandoff.safeParse(await readJson(request, LIMITS.hostBodyBytes));
  if (!read.success) return replyText(response, 400, "Malformed hand-off\n");
  const session = sessions.get(id);
  if (!session) return replyText(response, 404, "No such session\n");
  await session.handedOff(read.data);
  log.info({ slot: session.slot.number, ...read.data }, "handed_off");
  replyText(response, 204);
}

/** POST /drain */
export async function drain({ sessions, response }: SlotCall): Promise<void> {
  void sessions.drain();
  replyText(response, 202);
}

function unkeptBody(wishes: string[]): SlotRefused {
  const names = wishes.join(", ").slice(0, 200);
  const error = `This browser pool does not keep the wish: ${names}.`;
  return { error, code: UNKNOWN_WISH, hint: `${error} Create the session without it.` };
}

function refuse(response: ServerResponse, status: 409 | 501 | 503, body: SlotRefused): void {
  replyJson(response, status, body);
}
