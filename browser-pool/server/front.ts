import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import { Socket } from "node:net";
import { isFromGateway } from "@svc/host-kit/bearer.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import { refuseUpgrade, replyText } from "@svc/host-kit/reply.ts";
import type { Pool } from "../pool.ts";
import type { Session } from "../session.ts";
import type { ServedVersions } from "../wire/served.ts";
import { openCdp } from "./cdp.ts";
import { drain, endSlot, placeSlot } from "./slots.ts";
import { openWire } from "./ws.ts";

const KEEP_ALIVE_MS = 65_000;
const ROUTES = { slots: { PUT: placeSlot, DELETE: endSlot }, drain: { POST: drain } };
const UPGRADES = { ws: openWire, cdp: openCdp };

export interface Front {
  pool: Pool;
  served: ServedVersions;
  hostToken: string;
  log: Log;
  /** The gateway called: it is not away. */
  onCall: () => void;
}

/** A customer's upgrade, on its way to the browser of its session. */
export interface UpgradeCall {
  session: Session;
  served: ServedVersions;
  request: IncomingMessage;
  socket: Socket;
  head: Buffer;
}

/** The HTTP and WebSocket front of the pool: what the gateway calls (host protocol). */
export function createFront(front: Front): Server {
  const server = createServer((request, response) => {
    answer(front, request, response).catch((error: unknown) => {
      front.log.error({ reason: messageOf(error) }, "a request failed");
      if (!response.headersSent) replyText(response, 500, "Internal error\n");
    });
  });
  server.on("upgrade", (request, socket, head) => {
    if (!(socket instanceof Socket)) return;
    upgrade(front, request, socket, head).catch((error: unknown) => {
      front.log.warn({ reason: messageOf(error) }, "an upgrade failed");
      socket.destroy();
    });
  });
  // A placement may wait longer than Node lets a request take.
  server.requestTimeout = 0;
  // Longer than the gateway keeps a connection: else it may send on one that closes here at that moment.
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  return server;
}

async function answer(
  front: Front,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { room, id } = targetOf(request);
  const methods = room === "slots" || (room === "drain" && id === "drain") ? ROUTES[room] : null;
  if (!methods || id === null) return replyText(response, 404, "Not found\n");
  if (!(await isFromGateway(request, front.hostToken, id)))
    return replyText(response, 401, "Unauthorized\n");
  front.onCall();
  const route = Object.entries(methods).find(([method]) => method === request.method)?.[1];
  if (!route) return replyText(response, 405, "Method not allowed\n");
  const { pool, served } = front;
  await route({ pool, served, id, request, response });
}

async function upgrade(
  front: Front,
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
): Promise<void> {
  // Without a listener an error of a socket that waits here would end the process.
  socket.on("error", () => socket.destroy());
  const { room, id } = targetOf(request);
  if ((room !== "ws" && room !== "cdp") || id === null)
    return refuseUpgrade(socket, 404, "Not found\n");
  if (!(await isFromGateway(request, front.hostToken, id)))
    return refuseUpgrade(socket, 401, "Unauthorized\n");
  front.onCall();
  const session = front.pool.get(id);
  if (!session) return refuseUpgrade(socket, 404, "No such session\n");
  await UPGRADES[room]({ session, served: front.served, request, socket, head });
}

/** `/slots/<id>` as its two parts; `/drain` counts as its own id. */
function targetOf(request: IncomingMessage): { room: string; id: string | null } {
  const [path = ""] = (request.url ?? "").split("?");
  const [, room = "", id, ...rest] = path.split("/");
  if (room === "drain" && id === undefined) return { room, id: room };
  if (!id || rest.length > 0) return { room, id: null };
  try {
    return { room, id: decodeURIComponent(id) };
  } catch {
    return { room, id: null };
  }
}
