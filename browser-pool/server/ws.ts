import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { isWireVersion, wireMismatch, wireVersionOf } from "@svc/contract/browser/wire-versions.ts";
import { STALL_MS } from "@svc/host-kit/backlog.ts";
import { Relay } from "@svc/host-kit/relay.ts";
import { refuseUpgrade } from "@svc/host-kit/reply.ts";
import type { Session } from "../session.ts";
import { upgradeAt } from "../wire/upgrade.ts";

/** GET /ws/:sessionId: Playwright's wire protocol, byte by byte to the host of its version. */
export async function openWire(
  session: Session,
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
): Promise<void> {
  // Other clients may connect: only Playwright names a version.
  const version = wireVersionOf(request.headers["user-agent"]);
  if (version !== null && !isWireVersion(version))
    return refuseUpgrade(socket, 428, wireMismatch(version));
  const { slot, sockets } = session;
  const upgraded = await upgradeAt(slot.wire, request).catch(() => null);
  if (!upgraded) return refuseUpgrade(socket, 502, "The browser did not answer\n");
  const relay: Relay = new Relay({
    client: socket,
    upstream: upgraded.socket,
    source: slot.pipe,
    stallMs: STALL_MS,
    onTraffic: () => sockets.touch(),
    onEnd: (end) => sockets.remove(relay, end),
  });
  socket.write(upgraded.response);
  relay.start(head, upgraded.head);
  sockets.add(relay);
}
