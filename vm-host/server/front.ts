import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { callerOf, isFromGateway } from "@svc/host-kit/bearer.ts";
import type { Log } from "@svc/host-kit/log.ts";
import { refuseUpgrade, replyText } from "@svc/host-kit/reply.ts";
import { createHostServer } from "@svc/host-kit/server.ts";
import { answerBuild } from "./builds.ts";
import type { HostParts, VmCall } from "./call.ts";
import { openControl } from "./control.ts";
import { downloadFile, uploadFile } from "./files.ts";
import { OWN_ANSWER } from "./port-headers.ts";
import { forwardRequest, forwardUpgrade } from "./ports.ts";
import { openStream } from "./stream.ts";
import {
  checkpointVm,
  endUnusedVm,
  parkVm,
  pauseVm,
  removeSnapshot,
  resumeVm,
  revertVm,
  takeSnapshot,
} from "./states.ts";
import { drain, endVm, execute, placeVm, readMetrics } from "./vms.ts";

type Route = (call: VmCall) => Promise<void>;

const ROUTES: Record<string, Record<string, Route>> = {
  "": { PUT: placeVm, DELETE: endVm },
  exec: { POST: execute },
  metrics: { GET: readMetrics },
  files: { GET: downloadFile, HEAD: downloadFile, PUT: uploadFile },
  pause: { POST: pauseVm },
  checkpoint: { POST: checkpointVm },
  resume: { POST: resumeVm },
  end: { POST: endUnusedVm },
  snapshot: { POST: takeSnapshot },
  revert: { POST: revertVm },
  park: { POST: parkVm },
};

export interface Front extends HostParts {
  hostToken: string;
  log: Log;
}

/** The HTTP and WebSocket front of the host: the calls of its gateway (docs/HOST-PROTOCOL.md). */
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
  const target = targetOf(request);
  if (!target) return replyText(response, 404, "Not found\n");
  const { id, rest } = target;
  const caller = await callerOf(request, front.hostToken, id);
  if (!caller) return replyText(response, 401, "Unauthorized\n");
  const { vms, store, images, readiness } = front;
  const { org } = caller;
  const call = { vms, store, images, readiness, ...target, org, request, response };
  if (target.collection === "drain") return drain(call);
  if (target.collection === "snapshots") return removeSnapshot(call);
  if (target.collection === "templates") return answerBuild(call);
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
  if (target?.collection !== "vms") return refuseUpgrade(socket, 404, "Not found\n", OWN_ANSWER);
  const { id, rest } = target;
  if (!(await isFromGateway(request, front.hostToken, id)))
    return refuseUpgrade(socket, 401, "Unauthorized\n", OWN_ANSWER);
  const vm = front.vms.get(id);
  if (!vm && front.store.pausedRecordOf(id))
    return refuseUpgrade(socket, 409, "The sandbox is paused. Resume it.\n", OWN_ANSWER);
  if (!vm) return refuseUpgrade(socket, 404, "No such machine\n", OWN_ANSWER);
  const [name = ""] = rest.split(/[/?]/);
  if (name === "control") return openControl(vm, request, socket, head);
  if (name === "stream") return openStream(vm, request, socket, head);
  if (name === "ports") return forwardUpgrade(vm, rest, request, socket, head);
  refuseUpgrade(socket, 404, "Not found\n", OWN_ANSWER);
}

/** `/vms/<id>/<rest>`, `/snapshots/<id>` and `/templates/<id>?<query>` as their parts; `/drain` counts as its own id. */
function targetOf(request: IncomingMessage) {
  const url = request.url ?? "";
  if (url === "/drain" && request.method === "POST")
    return { collection: "drain", id: "drain", rest: "", query: "" };
  const [, collection = "", encoded, rest = "", query = ""] =
    /^\/(vms|snapshots|templates)\/([^/?]+)(?:\/(.*)|\?(.*))?$/s.exec(url) ?? [];
  if (encoded === undefined) return null;
  if (collection === "snapshots" && (request.method !== "DELETE" || rest !== "")) return null;
  try {
    return { collection, id: decodeURIComponent(encoded), rest, query };
  } catch {
    return null;
  }
}
