import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import { Socket } from "node:net";
import { callerOf, isFromGateway } from "@svc/host-kit/bearer.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import { refuseUpgrade, replyText } from "@svc/host-kit/reply.ts";
import type { Images } from "../images/images.ts";
import type { SharedPool } from "../shared/machines.ts";
import type { Acts } from "../assembly.ts";
import type { VmStates } from "../states/states.ts";
import type { Vms } from "../machines/vms.ts";
import { openControl } from "./control.ts";
import { downloadFile, uploadFile } from "./files.ts";
import { OWN_ANSWER } from "./port-headers.ts";
import { forwardRequest, forwardUpgrade } from "./ports.ts";
import {
  checkpointVm,
  parkVm,
  pauseVm,
  removeSnapshot,
  resumeVm,
  revertVm,
  takeSnapshot,
} from "./states.ts";
import { answerBuild } from "./builds.ts";
import { drain, endVm, execute, placeVm, readMetrics } from "./vms.ts";

const KEEP_ALIVE_MS = 65_000;

/** A call of the gateway for one machine. */
export interface VmCall {
  vms: Vms;
  states: VmStates;
  images: Images;
  shared: SharedPool;
  id: string;
  /** Whose machine or snapshot it is. */
  org: string;
  /** What follows the id, `ports/8000/a?b`. */
  rest: string;
  request: IncomingMessage;
  response: ServerResponse;
}

type Route = (call: VmCall) => Promise<void>;

const ROUTES: Record<string, Record<string, Route>> = {
  "": { PUT: placeVm, DELETE: endVm },
  exec: { POST: execute },
  metrics: { GET: readMetrics },
  files: { GET: downloadFile, PUT: uploadFile },
  pause: { POST: pauseVm },
  checkpoint: { POST: checkpointVm },
  resume: { POST: resumeVm },
  snapshot: { POST: takeSnapshot },
  revert: { POST: revertVm },
  park: { POST: parkVm },
};

export interface Front extends Acts {
  images: Images;
  hostToken: string;
  log: Log;
}

/** The HTTP and WebSocket front of the host: what the gateway calls (host protocol). */
export function createFront(front: Front): Server {
  const server = createServer((request, response) => {
    answer(front, request, response).catch((error: unknown) => {
      front.log.error({ reason: messageOf(error) }, "a request failed");
      if (response.headersSent) response.destroy();
      else replyText(response, 500, "Internal error\n");
    });
  });
  server.on("upgrade", (request, socket, head) => {
    if (!(socket instanceof Socket)) return;
    // Without a listener an error of a socket that waits here would end the process.
    socket.on("error", () => socket.destroy());
    upgrade(front, request, socket, head).catch((error: unknown) => {
      front.log.warn({ reason: messageOf(error) }, "an upgrade failed");
      socket.destroy();
    });
  });
  // A command or a transfer may take longer than Node lets a request take.
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
  const target = targetOf(request);
  if (!target) return replyText(response, 404, "Not found\n");
  const { id, rest } = target;
  const caller = await callerOf(request, front.hostToken, id);
  if (!caller) return replyText(response, 401, "Unauthorized\n");
  const { vms, states, images, shared } = front;
  const { org } = caller;
  const call = { vms, states, images, shared, id, org, rest, request, response };
  if (target.room === "drain") return drain(call);
  if (target.room === "snapshots") return removeSnapshot(call);
  if (target.room === "templates")
    return answerBuild({ ...call, builds: front.builds, query: target.query });
  const [name = ""] = rest.split(/[/?]/);
  if (name === "ports") return forwardRequest(call);
  const methods = Object.hasOwn(ROUTES, name) ? ROUTES[name] : undefined;
  if (!methods) return replyText(response, 404, "Not found\n");
  const route = Object.entries(methods).find(([method]) => method === request.method)?.[1];
  if (!route) return replyText(response, 405, "Method not allowed\n");
  await route(call);
  // A create's answer comes first: then there is one.
  const vm = vms.get(id);
  if (vm) vm.org = org;
}

async function upgrade(
  front: Front,
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
): Promise<void> {
  const target = targetOf(request);
  if (target?.room !== "vms") return refuseUpgrade(socket, 404, "Not found\n", OWN_ANSWER);
  const { id, rest } = target;
  if (!(await isFromGateway(request, front.hostToken, id)))
    return refuseUpgrade(socket, 401, "Unauthorized\n", OWN_ANSWER);
  const vm = front.vms.get(id);
  if (!vm) return refuseUpgrade(socket, 404, "No such machine\n", OWN_ANSWER);
  const [name = ""] = rest.split(/[/?]/);
  if (name === "control") return openControl(vm, request, socket, head);
  if (name === "ports") return forwardUpgrade(vm, rest, request, socket, head);
  refuseUpgrade(socket, 404, "Not found\n", OWN_ANSWER);
}

/** `/vms/<id>/<rest>`, `/snapshots/<id>` and `/templates/<id>?<query>` as their parts; `/drain` counts as its own id. */
function targetOf(request: IncomingMessage) {
  const url = request.url ?? "";
  if (url === "/drain" && request.method === "POST")
    return { room: "drain", id: "drain", rest: "", query: "" };
  const [, room = "", encoded, rest = "", query = ""] =
    /^\/(vms|snapshots|templates)\/([^/?]+)(?:\/(.*)|\?(.*))?$/s.exec(url) ?? [];
  if (encoded === undefined) return null;
  if (room === "snapshots" && (request.method !== "DELETE" || rest !== "")) return null;
  try {
    return { room, id: decodeURIComponent(encoded), rest, query };
  } catch {
    return null;
  }
}
