import { wireMismatch, wireVersionOf } from "@svc/contract/browser/wire-versions.ts";
import { STALL_MS } from "@svc/host-kit/backlog.ts";
import { Relay } from "@svc/host-kit/relay.ts";
import { refuseUpgrade } from "@svc/host-kit/reply.ts";
import { upgradeAt } from "../wire/upgrade.ts";
import type { UpgradeCall } from "./front.ts";

/** GET /ws/:sessionId: Playwright's wire protocol, byte by byte to the host of its version. */
export async function openWire({
  session,
  served,
  request,
  socket,
  head,
}: UpgradeCall): Promise<void> {
  const { slot, sockets } = session;
  // Other clients may connect: only Playwright names a version.
  const named = wireVersionOf(request.headers["user-agent"]);
  const version = named === null ? served.newest : served.find(named);
  const host = version && (await slot.wire.at(version).catch(() => null));
  // Asked again: that it cannot be confined shows only when it is attached.
  if (!version || !served.find(version))
    return refuseUpgrade(socket, 428, wireMismatch(named ?? "client", served.list));
  const upgraded = host && (await upgradeAt(host, request).catch(() => null));
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
