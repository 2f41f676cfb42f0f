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

/** GET /cdp/:sessionId: the DevTools protocol, as a client of its own on the session's browser. */
export async function openCdp({ session, request, socket, head }: UpgradeCall): Promise<void> {
  socket.setKeepAlive(true, KEEP_ALIVE_MS);
  socket.setNoDelay(true);
  const webSocket = await new Promise<WebSocket>((resolve) => {
    server.handleUpgrade(request, socket, head, resolve);
  });
  const { slot, sockets } = session;
  const customer: CdpCustomer = new CdpCustomer({
    webSocket,
    socket,
    mux: slot.mux,
    pipe: slot.pipe,
    onTraffic: () => sockets.touch(),
    onEnd: (end) => sockets.remove(customer, end),
  });
  sockets.add(customer);
  await customer.start().catch(() => customer.gone());
}
