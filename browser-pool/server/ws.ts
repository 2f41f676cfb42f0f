import { wireMismatch, wireVersionOf } from "@svc/contract/browser/wire-versions.ts";
import { messageOf } from "@svc/host-kit/log.ts";
import { refuseUpgrade } from "@svc/host-kit/reply.ts";
import type { UpgradeCall } from "./call.ts";

/** GET /ws/:sessionId: Playwright's wire protocol. The socket itself goes to the Playwright of its version. */
export async function openWire(call: UpgradeCall): Promise<void> {
  const { session, served, log, request, socket } = call;
  const { slot, sockets } = session;
  // Other clients may connect: only Playwright names a version.
  const named = wireVersionOf(request.headers["user-agent"]);
  const version = named === null ? served.newest : served.find(named);
  const failure = version && (await slot.playwrights.open(version, call, sockets).catch(messageOf));
  // Asked again: a version that cannot be confined shows only when it is attached.
  if (!version || !served.find(version))
    return refuseUpgrade(socket, 428, wireMismatch(named ?? "client", served.list));
  if (!failure) return;
  log.warn({ slot: slot.number, version, reason: failure }, "wire_not_opened");
  refuseUpgrade(socket, 502, "The browser did not answer\n");
}
