import { type IncomingMessage, request as httpRequest, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { isRefused } from "@svc/contract/control-channel/refusals.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { refuseUpgrade, replyText } from "@svc/host-kit/reply.ts";
import type { Places } from "../machines/places.ts";
import { type Absentees, replyAbsent, replyPaused } from "./broken-call.ts";
import type { VmCall } from "./call.ts";
import { headersForGateway, headersForGuest, OWN_ANSWER } from "./port-headers.ts";
import { joinPreview, type PreviewMachine } from "./preview-socket.ts";

const TOO_EARLY = 425;
const PAUSED = 409;
const TOO_MANY = `The machine has ${LIMITS.machinePreviews} requests open. Wait for one to end.\n`;

/** What a machine is here: ports that can be reached, and a clock of its use. */
export interface PortVm extends PreviewMachine {
  /** Notes work in flight: the machine is in use until the returned function is called. */
  begin(): () => void;
  guest: { dial(port: number): Promise<Duplex> };
  previews: Places;
}

/** A call for a port of a machine. */
export type PortCall = Pick<VmCall, "id" | "rest" | "request" | "response"> & {
  store: Absentees;
  vms: { get(id: string): PortVm | undefined };
};

/** ANY /vms/:sandboxId/ports/:port/…: a request to a server inside. 425 when nothing listens yet. */
export async function forwardRequest(call: PortCall): Promise<void> {
  const { vms, id, rest, request, response } = call;
  const vm = vms.get(id);
  if (!vm) return replyAbsent(call);
  const target = targetOf(rest);
  if (!target) return replyText(response, 400, "Malformed port\n");
  const passing = vm.previews.with(async () => {
    const over = vm.begin();
    await passRequest(vm, target, request, response).finally(over);
  });
  if ((await passing) === null) replyText(response, 429, TOO_MANY);
}

/** Returns when the whole answer has passed, however long it takes: until then somebody waits for it. */
async function passRequest(
  vm: PortVm,
  target: Target,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const socket = await dial(vm, target.port);
  if (typeof socket === "number") return replyText(response, socket, "The port does not answer\n");
  if (response.destroyed) return void socket.destroy();
  response.once("close", () => socket.destroy());
  try {
    const answer = await ask(socket, target, request);
    response.writeHead(
      answer.statusCode ?? 502,
      answer.statusMessage,
      headersForGateway(answer.rawHeaders),
    );
    await pipeline(answer, response);
  } catch (error) {
    if (response.headersSent) response.destroy();
    else if (!(await replyPaused(response, vm, error)))
      replyText(response, 502, "The server inside broke off\n");
  }
}

/**
 * The same for an upgrade. Taken, everything after its answer passes byte by byte. Refused, the connection ends with the
 * answer: the gateway would use it for its next call of this host, which would then be the guest's to read.
 */
export async function forwardUpgrade(
  vm: PortVm,
  rest: string,
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
): Promise<void> {
  const target = targetOf(rest);
  if (!target) return refuseUpgrade(socket, 400, "Malformed port\n", OWN_ANSWER);
  const passing = vm.previews.with(async () => passUpgrade(vm, target, request, socket, head));
  if ((await passing) === null) refuseUpgrade(socket, 429, TOO_MANY, OWN_ANSWER);
}

async function passUpgrade(
  vm: PortVm,
  target: Target,
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
): Promise<void> {
  const answered = vm.begin();
  const inside = await dial(vm, target.port);
  if (typeof inside === "number") answered();
  if (typeof inside === "number")
    return refuseUpgrade(socket, inside, "The port does not answer\n", OWN_ANSWER);
  socket.once("close", () => inside.destroy());
  let isAnswered = false;
  try {
    const { answer, first } = await askUpgrade(inside, target, request);
    isAnswered = true;
    // From here on its bytes count, both ways: a socket over which nothing passes leaves the machine idle.
    if (first) answered();
    socket.write(headOf(answer, first !== null), "latin1");
    if (!first) return await pipeline(answer, socket);
    inside.write(head);
    const isWebSocket = request.headers.upgrade?.toLowerCase() === "websocket";
    return await joinPreview(vm, { client: socket, inside, first, isWebSocket });
  } catch {
    if (!isAnswered) return refuseUpgrade(socket, 502, "The server inside broke off\n", OWN_ANSWER);
  } finally {
    answered();
    inside.destroy();
  }
  socket.destroy();
}

interface Target {
  port: number;
  path: string;
}

/** `ports/8000/a?b` as port and path. */
function targetOf(rest: string): Target | null {
  const [, digits, path = ""] = /^ports\/(\d{1,5})(?:\/(.*))?$/s.exec(rest) ?? [];
  const port = Number(digits);
  return port >= 1 && port <= 65_535 ? { port, path: `/${path}` } : null;
}

async function dial(vm: PortVm, port: number): Promise<Duplex | number> {
  try {
    return await vm.guest.dial(port);
  } catch (error) {
    if (isRefused(error, "ConnectionRefused")) return TOO_EARLY;
    const ending = isRefused(error, "Disconnected") ? await vm.ending() : null;
    return ending?.state === "paused" ? PAUSED : 502;
  }
}

function ask(socket: Duplex, target: Target, request: IncomingMessage) {
  const options = {
    // Node's client writes to whatever stream it is given.
    createConnection: () => socket,
    method: request.method,
    path: target.path,
    headers: headersForGuest(request.rawHeaders),
  };
  return new Promise<IncomingMessage>((resolve, reject) => {
    const asked = httpRequest(options, resolve);
    asked.on("error", reject);
    // An answer of 101 that nobody asked for is no answer.
    asked.on("upgrade", () => reject(new Error("an upgrade that nobody asked for")));
    asked.on("close", () => reject(new Error("the connection ended without an answer")));
    request.pipe(asked);
    request.once("aborted", () => asked.destroy());
  });
}

/** What the server inside answers to an upgrade, and the first bytes of its side: null when it refuses. */
function askUpgrade(inside: Duplex, target: Target, request: IncomingMessage) {
  const { upgrade = "websocket" } = request.headers;
  const headers = [
    ...headersForGuest(request.rawHeaders),
    "connection",
    "Upgrade",
    "upgrade",
    upgrade,
  ];
  const options = { createConnection: () => inside, path: target.path, headers };
  return new Promise<{ answer: IncomingMessage; first: Buffer | null }>((resolve, reject) => {
    const asked = httpRequest({ ...options, method: request.method });
    asked.on("upgrade", (answer, _inside, first) => resolve({ answer, first }));
    asked.on("response", (answer) => resolve({ answer, first: null }));
    asked.on("error", reject);
    asked.on("close", () => reject(new Error("the connection ended without an answer")));
    asked.end();
  });
}

/** The head of an answer: as it came when the upgrade was taken, else of an ordinary answer that ends its connection. */
function headOf({ statusCode, statusMessage, rawHeaders }: IncomingMessage, isTaken: boolean) {
  const headers = isTaken ? rawHeaders : [...headersForGateway(rawHeaders), "connection", "close"];
  const lines = [`HTTP/1.1 ${statusCode} ${statusMessage}`];
  for (let at = 0; at + 1 < headers.length; at += 2)
    lines.push(`${headers[at]}: ${headers[at + 1]}`);
  return `${lines.join("\r\n")}\r\n\r\n`;
}
