import { OPENS_HEADER, OWN_HEADER } from "@svc/contract/host-protocol/slots.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { LATE, inTime } from "@svc/host-kit/deadline.ts";
import { messageOf } from "@svc/host-kit/log.ts";
import { refuseUpgrade } from "@svc/host-kit/reply.ts";
import { CdpCustomer } from "../cdp/customer.ts";
import { UPGRADE_HEADERS, acceptUpgrade, upgradeFault } from "../web-socket/handshake.ts";
import type { UpgradeCall } from "./call.ts";

const KEEP_ALIVE_MS = 30_000;

/** GET /cdp/:sessionId: the DevTools protocol, as a client of its own on the session's browser. */
export async function openCdp(call: UpgradeCall): Promise<void> {
  const { session, request, socket, head, log } = call;
  const { slot, sockets } = session;
  const fault = upgradeFault(request);
  if (fault) return refuseUpgrade(socket, ...fault, UPGRADE_HEADERS);
  slot.playwrights.giveWay();
  const customer: CdpCustomer = new CdpCustomer({
    mux: slot.mux,
    pipe: slot.pipe,
    onTraffic: () => sockets.touch(),
    onFault: (code, reason) => log.info({ slot: slot.number, code, reason }, "cdp_socket_faulty"),
    onEnd: (end) => sockets.remove(customer, end),
  });
  const failure = await attach(customer);
  if (failure !== null) {
    log.warn({ slot: slot.number, reason: failure }, "cdp_not_attached");
    customer.giveUp();
    return refuseUpgrade(socket, 404, "The browser has no DevTools target to attach to\n");
  }
  const opens = countOf(call, customer);
  // A client that has gone meanwhile gets no WebSocket.
  if (socket.destroyed) {
    customer.giveUp();
    return sockets.remove(customer, "dropped");
  }
  socket.setKeepAlive(true, KEEP_ALIVE_MS);
  socket.setNoDelay(true);
  acceptUpgrade(socket, request, opens === null ? {} : { [OPENS_HEADER]: String(opens) });
  customer.open(socket, head);
}

/** The number of a customer's socket; null of one of the gateway itself. */
function countOf({ session, request }: UpgradeCall, customer: CdpCustomer): number | null {
  if (request.headers[OWN_HEADER] === undefined) return session.sockets.add(customer, request);
  session.sockets.addOwn(customer);
  return null;
}

/** Why the browser gave the client no session in time; null when it did. */
async function attach(customer: CdpCustomer): Promise<string | null> {
  try {
    const isLate = (await inTime(customer.attach(), LIMITS.slotUpgradeMs)) === LATE;
    return isLate ? "no answer in time" : null;
  } catch (error) {
    return messageOf(error);
  }
}
