import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import { Socket } from "node:net";
import { callerOf, isFromGateway } from "@svc/host-kit/bearer.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import { refuseUpgrade, replyText } from "@svc/host-kit/reply.ts";
import { answerBuild } from "./builds.ts";
import type { HostParts, VmCall } from "./call.ts";
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
import { drain, endVm, execute, placeVm, readMetrics } from "./vms.ts";

const KEEP_ALIVE_MS = 65_000;

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

export interface Front extends HostParts {
  hostToken: string;
  log: Log;
}

/** The HTTP and WebSocket front of the host: what the gateway calls (host protocol). */
export function createFront(front: Front): Server {
  const server = createServer((request, response) => {
    answer(front, request, response).catch((error: unknown) => {
      front.log.error({ reason: messageOf(error) }, "request_failed");
      if (response.headersSent) response.destroy();
      else replyText(response, 500, "Internal error\n");
    });
  });
  server.on("upgrade", (request, socket, head) => {
    if (!(socket instanceof Socket)) return;
    // Without a listener an error of a socket that waits here would end the process.
    socket.on("error", () => socket.destroy());
    upgrade(front, request, socket, head).catch((error: unknown) => {
      front.log.warn({ reason: messageOf(error) }, "upgrade_failed");
      socket.destroy();
    });
  });
  // A command or a transfer may take longer than Node lets a request take.
  server.requestTimeout = 0;
  // Longer than the gateway keeps a connection: else it may send on a connection that closes here at that moment.
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  return server;
}

/** Opens the front and returns the URL by which it is reached. */
export async function listen(
  front: Server,
  { host, port }: { host: string; port: number },
  publicUrl: string | null,
): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    front.once("error", reject);
    front.listen(port, host, resolve);
  });
  const address = front.address();
  if (address === null || typeof address === "string") throw new Error("no address");
  const name = host.includes(":") ? `[${host}]` : host;
  return publicUrl ?? `http://${name}:${address.port}`;
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
