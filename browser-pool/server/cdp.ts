import type { IncomingMessage } from "node:http";
import { OPENS_HEADER } from "@svc/contract/host-protocol/slots.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { LATE, inTime } from "@svc/host-kit/deadline.ts";
import { messageOf } from "@svc/host-kit/log.ts";
import { refuseUpgrade } from "@svc/host-kit/reply.ts";
import { type WebSocket, WebSocketServer } from "ws";
import { CdpCustomer } from "../cdp/customer.ts";
import type { UpgradeCall } from "./call.ts";

const MESSAGE_BYTES = 256 * 1024 * 1024;
const KEEP_ALIVE_MS = 30_000;

const server = new WebSocketServer({
  noServer: true,
  maxPayload: MESSAGE_BYTES,
  // Compressing for a client on the next hop costs more than it saves.
  perMessageDeflate: false,
});
const opens = new WeakMap<IncomingMessage, number>();
server.on("headers", (headers, request) => {
  headers.push(`${OPENS_HEADER}: ${opens.get(request)}`);
});

/** GET /cdp/:sessionId: the DevTools protocol, as a client of its own on the session's browser. */
export async function openCdp(call: UpgradeCall): Promise<void> {
  const { session, request, socket, head, log } = call;
  const { slot, sockets } = session;
  const customer: CdpCustomer = new CdpCustomer({
    mux: slot.mux,
    pipe: slot.pipe,
    onTraffic: () => sockets.touch(),
    onEnd: (end) => sockets.remove(customer, end),
  });
  const failure = await attach(customer);
  if (failure !== null) {
    log.warn({ slot: slot.number, reason: failure }, "cdp_not_attached");
    customer.giveUp();
    return refuseUpgrade(socket, 404, "The browser has no DevTools target to attach to\n");
  }
  opens.set(request, sockets.add(customer));
  socket.setKeepAlive(true, KEEP_ALIVE_MS);
  socket.setNoDelay(true);
  // A client that has gone meanwhile gets no WebSocket.
  const gone = (): void => {
    customer.giveUp();
    sockets.remove(customer, "dropped");
  };
  if (socket.destroyed) return gone();
  socket.once("close", gone);
  server.handleUpgrade(request, socket, head, (webSocket: WebSocket) => {
    socket.off("close", gone);
    customer.open(webSocket, socket);
  });
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
