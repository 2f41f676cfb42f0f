import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { LIMITS } from "@svc/contract/limits.ts";
import { callerOf, isFromGateway } from "@svc/host-kit/bearer.ts";
import type { Log } from "@svc/host-kit/log.ts";
import { refuseUpgrade, replyText } from "@svc/host-kit/reply.ts";
import { createHostServer } from "@svc/host-kit/server.ts";
import type { Feeds } from "../observing/feeds.ts";
import type { ServedVersions } from "../playwrights/served-versions.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { SlotCall } from "./call.ts";
import { openCdp } from "./cdp.ts";
import { discover } from "./discovery.ts";
import { openFeed } from "./feed.ts";
import { readFiles, writeFile } from "./files.ts";
import { drain, endSlot, handOff, placeSlot, seeSlot, setSlotDomains } from "./slots.ts";
import { readState } from "./state.ts";
import { openWire } from "./ws.ts";

const TOO_MANY = `This session has ${LIMITS.sessionSockets} sockets of /ws and /cdp open, the most that it may have: close one, then connect again.\n`;
/** By the parts of the path beside the id. */
const ROUTES = new Map<string, Record<string, (call: SlotCall) => Promise<void>>>(
  Object.entries({
    slots: { PUT: placeSlot, GET: seeSlot, DELETE: endSlot },
    "slots/allowed-domains": { POST: setSlotDomains },
    "slots/handoff": { POST: handOff },
    "slots/feed": { POST: openFeed },
    "slots/state": { POST: readState },
    "slots/files": { GET: readFiles, HEAD: readFiles, PUT: writeFile },
    cdp: { GET: discover },
    drain: { POST: drain },
  }),
);
const UPGRADES = { ws: openWire, cdp: openCdp };

export interface Front {
  sessions: Sessions;
  feeds: Feeds;
  served: ServedVersions;
  hostToken: string;
  log: Log;
  /** The gateway has called. */
  onCall: () => void;
}

/** The HTTP and WebSocket front of the pool: the calls of its gateway (docs/HOST-PROTOCOL.md). */
export function createFront(front: Front): Server {
  return createHostServer({
    answer: (request, response) => answer(front, request, response),
    upgrade: (request, socket, head) => upgrade(front, request, socket, head),
    log: front.log,
  });
}

async function answer(
  front: Front,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { root, id } = targetOf(request);
  const methods = ROUTES.get(root);
  if (!methods || id === null) return replyText(response, 404, "Not found\n");
  const caller = await callerOf(request, front.hostToken, id);
  if (!caller) return replyText(response, 401, "Unauthorized\n");
  front.onCall();
  const route = Object.entries(methods).find(([method]) => method === request.method)?.[1];
  if (!route) return replyText(response, 405, "Method not allowed\n");
  const { sessions, feeds, log, served } = front;
  await route({ sessions, feeds, log, served, id, org: caller.org, request, response });
}

async function upgrade(
  front: Front,
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
): Promise<void> {
  const { root, id } = targetOf(request);
  if ((root !== "ws" && root !== "cdp") || id === null)
    return refuseUpgrade(socket, 404, "Not found\n");
  if (!(await isFromGateway(request, front.hostToken, id)))
    return refuseUpgrade(socket, 401, "Unauthorized\n");
  front.onCall();
  const session = front.sessions.get(id);
  if (!session) return refuseUpgrade(socket, 404, "No such session\n");
  const { served, log } = front;
  const open = () => UPGRADES[root]({ session, served, log, request, socket, head });
  if (await session.sockets.enter(request, open)) return;
  log.warn({ slot: session.slot.number, endpoint: root }, "too_many_sockets");
  refuseUpgrade(socket, 429, TOO_MANY);
}

/** `/slots/<id>/files` as its route, `slots/files`, and the id; `/drain` counts as its own id. */
function targetOf(request: IncomingMessage): { root: string; id: string | null } {
  const [path = ""] = (request.url ?? "").split("?");
  const [, root = "", id, ...rest] = path.split("/");
  const isDrain = root === "drain";
  if (isDrain && id === undefined) return { root, id: root };
  if (isDrain || !id) return { root, id: null };
  try {
    return { root: [root, ...rest].join("/"), id: decodeURIComponent(id) };
  } catch {
    return { root, id: null };
  }
}
